"""The named generators of rows: invented people, companies, places and texts."""

from __future__ import annotations

from collections.abc import Callable

from simtrain.seeding import Stream

FIRST_NAMES = (
    "Ada Adele Aiko Alba Alma Amara Amir Anand Anja Anton Arda Arlo Asha Astrid Aurel Basil Beatriz Bela Bianca Boris Bruno Caio Camila Carmen Celia Chidi "
    "Clara Claudio Cora Cyrus Dalia Dario Davor Deniz Dina Dmitri Dora Edda Edgar Elena Elias Elif Emeka Emil Enzo Esra Esther Eva Fadi Fatima Felix Femi "
    "Fiona Flora Freya Gabor Gita Greta Gustav Hana Hanno Hector Hedda Hiro Hugo Ida Ilse Imani Ines Ingrid Iris Ivan Jada Jan Jasper Joana Jonas Jun Kaia "
    "Karim Kavya Keiko Kofi Lale Lars Layla Lena Leon Lidia Linus Livia Luca Luisa Magnus Maia Malik Mara Marco Marta Mateo Maya Mila Milan Mina Mirko Nadia "
    "Naomi Nia Nico Nils Nina Noor Nora Nuri Oda Olga Oscar Otis Pablo Paloma Pavel Petra Pia Priya Quinn Rafael Rania Ravi Remy Rhea Rolf Rosa Rufus Saba "
    "Samir Sanna Sara Sefa Selma Silas Simone Sofia Stella Sven Tala Tamar Tariq Tessa Theo Tomas Uma Ursula Vera Viktor Vito Wanda Wim Xenia Yara Yasmin "
    "Yuki Zahra Zeno Zora"
).split()
LAST_NAMES = (
    "Abara Acosta Adeyemi Albers Almeida Andrade Arslan Asante Aydin Bakker Baran Barros Becker Bellini Benitez Berg Bianchi Bjork Blum Bosch Brandt Caruso "
    "Castell Cerny Chandra Coelho Conti Cruz Dahl Danso Delgado Demir Dietrich Doshi Duarte Dvorak Ekström Engel Eriksen Esposito Farkas Fayed Ferrari Fischer "
    "Fontana Fuchs Gallo Garrido Gashi Goto Grimaldi Haas Haddad Hagen Halvorsen Hansen Hartog Hayashi Herrera Hoang Horvat Huber Ibarra Ikeda Iyer Jansen "
    "Jensen Joshi Kaplan Karlsen Keita Keller Khatri Kimura Klein Kovac Kowalski Krüger Kurt Lang Larsen Laurent Lindholm Lopes Lund Maas Madsen Makela Marchetti "
    "Mbeki Mendes Meyer Mori Moreau Nakata Nassar Navarro Neumann Nguyen Nowak Obi Okafor Oliveira Olsen Ortega Osman Otero Paz Pereira Petrov Pham Pinto Popov "
    "Quist Rahman Ramos Rao Reis Ricci Rojas Rossi Roth Sahin Saito Salas Sato Schulz Serrano Silva Soler Sousa Stark Suzuki Szabo Takeda Tanaka Thaler "
    "Torres Toth Umar Vargas Vidal Virtanen Vogel Voss Weber Winter Wolff Yamada Yilmaz Zeman Ziegler Zuniga"
).split()
COMPANY_STEMS = (
    "Alder Amber Anchor Apex Arbor Aster Atlas Basalt Beacon Birch Bramble Brook Cedar Cinder Clover Cobalt Compass Copper Coral Crest Delta Drift Ember Fable "
    "Falcon Fern Field Flint Garnet Glacier Granite Harbor Hazel Heron Indigo Iron Juniper Kestrel Lantern Larch Linden Lumen Maple Marble Meadow Meridian "
    "Mosaic North Oak Onyx Orchard Osprey Pebble Pine Pioneer Prairie Quartz Raven Ridge River Rowan Saffron Sage Slate Spruce Sterling Summit Tidal Timber "
    "Topaz Valley Vector Willow Zephyr"
).split()
COMPANY_KINDS = "Analytics Bikes Books Clinics Coffee Design Energy Farms Foods Freight Games Health Homes Labs Legal Logistics Media Mobility Motors Optics Outdoor Paper Press Robotics Schools Software Studios Supply Systems Textiles Tools Travel Works".split()  # fmt: skip
PRODUCT_QUALITIES = "Classic Compact Everyday Featherlight Foldable Heavy Insulated Little Modular Organic Quiet Rugged Slim Soft Solid Travel Trail Urban Wide Woven".split()  # fmt: skip
PRODUCT_THINGS = "Backpack Blanket Bottle Bowl Chair Clock Desk Fan Gloves Headlamp Jacket Kettle Knife Lamp Mat Mug Notebook Pan Pillow Radio Scarf Shelf Speaker Stool Tent Toaster Towel Tray Umbrella Wallet".split()  # fmt: skip
CITIES = (
    "Aldermoor", "Ashby", "Belcastro", "Bramford", "Brighton Falls", "Calder Bay", "Carrow", "Castelnova", "Dunmere", "Eastmark", "Elmstad", "Fairholm",
    "Fenwick", "Greywater", "Halden", "Highcliff", "Kestrel Point", "Kingsmere", "Larkfield", "Linwood", "Lowport", "Marisol", "Millbrook", "Nordhaven",
    "Oakridge", "Old Harbour", "Pellworth", "Port Amity", "Quarry Hill", "Ravensby", "Riverton", "Rosedale", "Saltmarsh", "Silverlake", "Stonebridge",
    "Tarnbeck", "Thornbury", "Valmere", "Westbrook", "Wexley", "Whitford", "Windmere", "Yarrow",
)  # fmt: skip
COUNTRIES = ("Arvandia", "Belmora", "Corvania", "Drelland", "Estmark", "Farrowland", "Galdria", "Halvenia", "Istria Nova", "Jorvania", "Kelmar", "Lorestan")
STREETS = "Birch Bridge Canal Castle Cedar Chapel Church Court Dock Elm Forge Garden Glen Grove Harbour Hill King Lake Lime Market Meadow Mill North Orchard Park Pine Quay River School South Spring Station Tower Union Valley View Well West Wood".split()  # fmt: skip
WORDS = (
    "account agenda amount answer archive balance batch border branch bridge budget bundle button calendar camera canvas carbon center channel charge circle "
    "client cloud column contract corner counter credit customer cycle data deadline delivery design detail device draft energy engine entry event export "
    "factor field figure filter forecast format frame gallery goal group guide handle header history image import index input invoice issue item journal "
    "label launch layer ledger letter level library limit list market matter meeting memo message method metric model module month network note number object "
    "office order outline package page panel paper parcel partner pattern payment phase picture plan policy portal price print process product profile project "
    "quarter question queue rate record region release report request result review route sample schedule screen script season section sensor server service "
    "session setting shelf signal site sketch source stage status stock storage survey switch system table target task team template ticket timeline title "
    "tool topic total track transfer update upload value vendor version visit volume weather week window worker"
).split()
_OPENERS = ("Please look at", "We are waiting for", "There is a problem with", "I have a question about", "Thanks for", "The team discussed", "Nobody has touched",
            "Everyone agrees on", "We should plan", "I could not find", "Let us go over", "The client asked about")  # fmt: skip
_CLOSERS = ("before the week is over", "as soon as possible", "when you have a moment", "at the next meeting", "once the numbers are in", "after the release",
            "for the coming quarter", "without further delay", "as agreed last time", "with the usual care")  # fmt: skip


def person(stream: Stream) -> str:
    """A first and a last name."""
    return f"{stream.choose(FIRST_NAMES)} {stream.choose(LAST_NAMES)}"


def company(stream: Stream) -> str:
    """A company name of two words."""
    return f"{stream.choose(COMPANY_STEMS)} {stream.choose(COMPANY_KINDS)}"


def product(stream: Stream) -> str:
    """A product name of two words."""
    return f"{stream.choose(PRODUCT_QUALITIES)} {stream.choose(PRODUCT_THINGS)}"


def words(stream: Stream) -> str:
    """Two or three common words."""
    return " ".join(stream.choose(WORDS) for _ in range(stream.integer(2, 3)))


def sentence(stream: Stream) -> str:
    """One plain sentence of office English."""
    return f"{stream.choose(_OPENERS)} the {stream.choose(WORDS)} {stream.choose(WORDS)} {stream.choose(_CLOSERS)}."


def paragraph(stream: Stream) -> str:
    """Two to four sentences."""
    return " ".join(sentence(stream) for _ in range(stream.integer(2, 4)))


NAMED: dict[str, Callable[[Stream], str]] = {
    "person": person,
    "first_name": lambda stream: stream.choose(FIRST_NAMES),
    "last_name": lambda stream: stream.choose(LAST_NAMES),
    "company": company,
    "product": product,
    "city": lambda stream: stream.choose(CITIES),
    "country": lambda stream: stream.choose(COUNTRIES),
    "street": lambda stream: f"{stream.integer(1, 180)} {stream.choose(STREETS)} Street",
    "phone": lambda stream: f"+{stream.integer(20, 98)} 555 {stream.integer(1000, 9999)}",
    "word": lambda stream: stream.choose(WORDS),
    "words": words,
    "sentence": sentence,
    "paragraph": paragraph,
    "username": lambda stream: f"{stream.choose(FIRST_NAMES).lower()}{stream.integer(1, 99)}",
}
"""Name -> a function from a stream of draws to a value."""
