"""The wordings of the text beside calls; `act` describes the call, as an infinitive."""

from simtrain.agents.planned import CallReason

FIRST = (
    "I start by finding out what I need: I {act}.", "First I {act}.", "To begin with, I {act}.", "Let me {act} first.",
    "Before I change anything, I {act}.", "My first step is to {act}.", "I begin with the facts and {act}.", "I will {act} to get going.",
    "The place to start: {act}.", "To see what this is about, I {act}.", "Starting out, I {act}.", "I need to know more, so first I {act}.",
)  # fmt: skip
NEXT = (
    "Next I {act}.", "Now I {act}.", "With that known, I {act}.", "Let me {act}.", "Going on, I {act}.", "Then I {act}.",
    "The next thing to do is to {act}.", "From here I {act}.", "I go on to {act}.", "One step further: I {act}.", "I will {act} next.",
    "After that, I {act}.", "What comes next is to {act}.", "On with it: I {act}.",
)  # fmt: skip
READ = (
    "I still need more, so I {act}.", "What I need now is to {act}.", "To know more, I {act}.",
    "I want to see more before I go on, so I {act}.",
    "One more look: I {act}.",
)  # fmt: skip
WRITE = (
    "Time to act: I {act}.", "Now for the change itself: I {act}.", "I go ahead and {act}.", "This is what has to be done: {act}.",
    "I can act on that now and {act}.",
)  # fmt: skip
FROM_REPLY = (
    "The reply of {tool} told me of {value}, so I {act}.", "The reply of {tool} names {value}; I {act}.",
    "I have {value} from {tool} and {act}.",
    "With {value} from {tool} in hand, I {act}.", "As {tool} shows {value}, I {act}.", "Since {tool} gave me {value}, I {act} next.",
    "Now that {tool} has given me {value}, I {act}.", "I take {value} from the reply of {tool} and {act}.",
    "What {tool} returned holds {value}, so now I {act}.",
)  # fmt: skip
FROM_TASK = (
    "The task names {value}, so I {act}.", "The task gives {value}; I {act}.", "I know {value} from the request and {act}.",
    "As the request speaks of {value}, I {act}.", "With {value} from the task, I {act}.", "The request mentions {value}: I {act}.",
    "I was told {value}, so I {act}.",
)  # fmt: skip
TOGETHER = (
    "These do not depend on each other, so I ask for them at once: I {act} and {more}.", "I {act} and {more} in one go.",
    "None of these needs the reply of another: I {act} and {more}.", "To save a turn, I {act} and {more} together.",
    "I can ask for this side by side: I {act} and {more}.", "Let me {act} and {more} at the same time.",
    "I know already that I need all of this, so I {act} and {more}.", "At once, I {act} and {more}.",
)  # fmt: skip
MORE = ("make the other reads of this kind", "ask for the rest as well", "do the same for the others", "get the others")
PAGE = (
    "There is a next page, so I read on.", "The list goes on; I fetch the following page.",
    "The cursor is not null yet: on to the next page.",
    "That was not the whole list, so I ask for what follows.", "I follow the cursor to the next page.",
    "More is to come; I go on with the next page.",
)  # fmt: skip
REFUSED = (
    "That was refused. I {act}.", "The service did not allow it; I go on and {act}.", "That did not go through, so I {act}.",
    "Since that was turned down, I {act}.", "The answer was no. Next I {act}.", "After this refusal I {act}.",
)  # fmt: skip
REFUSED_SAYING = (
    "The service says: {error}. I {act}.", "That was refused ({error}). I {act}.", "It was turned down: {error}. So I {act}.",
    "The reply was a refusal: {error}. I go on and {act}.", "No luck there: {error}. I {act}.",
)  # fmt: skip
FAILED = ("The call failed.", "That call did not work.", "I got an error.", "That went wrong.")
FAILED_SAYING = (
    "The call failed: {error}.", "I got an error: {error}.", "The service answers: {error}.", "That did not work: {error}.",
    "An error came back: {error}.",
)  # fmt: skip

REASONS: dict[CallReason, tuple[str, ...]] = {
    CallReason.again: (
        "{failed} That may pass, so I try once more.", "{failed} I make the same call again.",
        "{failed} It may be a passing problem; I try again.",
        "{failed} I give it another try.", "{failed} Once more, then.", "{failed} I repeat the call.",
    ),
    CallReason.fixed: (
        "{failed} I mend the arguments and call again.", "{failed} The arguments were not as the tool wants them; I fix them.",
        "{failed} I put the arguments right.", "{failed} With other arguments it should go through.",
    ),
    CallReason.remedy: (
        "{failed} There is a tool that can help with this: I {act}.", "{failed} To remove the cause, I {act}.",
        "{failed} Before I go on, I {act}.", "{failed} That can be mended: I {act}.",
    ),
    CallReason.after_remedy: (
        "With that out of the way, I make the call again.", "Now the call that failed should work.",
        "The cause should be gone; I try again.",
        "Back to what I wanted to do: I {act}.",
    ),
    CallReason.instead: (
        "Another tool, {tool}, does the same, so I use it instead.", "I take {tool} in its place.",
        "There is another tool for this: {tool}.",
        "I turn to {tool}, which does the same.",
    ),
    CallReason.onward: (
        "The reply sends me on to another address; I follow it.", "This has moved, so I go where it points.", "I follow the new address.",
    ),
    CallReason.landed: (
        "{failed} It may have taken effect all the same, so I look before I repeat it: I {act}.",
        "{failed} I do not know whether it was carried out; I {act} to see.",
        "{failed} Before doing it twice, I {act}.",
        "{failed} To find out whether it landed, I {act}.",
    ),
    CallReason.doubted: (
        "That reply cannot be the whole story; I ask again.", "Something about this reply is not right, so I repeat the read.",
        "I do not trust that reply as it is; I read it again.", "This looks odd. I ask for it once more.",
        "The reply is not what I would expect here; once more.",
    ),
    CallReason.compared: (
        "To be sure, I make this read twice and compare.", "To be on the safe side, I ask a second time.",
        "I check this reply against another one.", "I would rather compare two replies here.",
    ),
    CallReason.elsewhere: (
        "The reply does not tell me that; perhaps I find it when I {act}.", "Another tool may know more: I {act}.",
        "What is missing may stand elsewhere, so I {act}.", "I look for it elsewhere and {act}.",
    ),
    CallReason.shows: (
        "I make sure that the change is there: I {act}.", "Before I rely on it, I {act}.", "To see whether it has taken effect, I {act}.",
        "I check the result: I {act}.", "Let me verify that: I {act}.",
    ),
    CallReason.searched: (
        "{failed} I have seen it before, so I look where it stood: I {act}.", "{failed} It was there earlier; I {act} to find it again.",
        "I look for it again and {act}.",
    ),
    CallReason.requested: ("I was asked to {act}, so I do.", "The text that I read wants me to {act}.", "As the text says, I {act}."),
}  # fmt: skip
