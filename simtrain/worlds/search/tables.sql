create table _meta (key text primary key, value text not null) without rowid;
create table _types (name text primary key, kind text not null check (kind in ('entity', 'relation')),
                     plural text not null, position integer not null) without rowid;
create table _attributes (id integer primary key, type text not null, name text not null, kind text not null,
                          unit text, target text, label text not null, unique (type, name));
create table _words (language text not null, kind text not null, subject text not null, word text not null,
                     primary key (language, kind, subject)) without rowid;
create table _aliases (type text not null, entity integer not null, alias text not null, kind text not null);
create table _sites (id integer primary key, name text not null unique, domain text not null unique, title text not null,
                     kind text not null, reliability real not null, lag_days integer not null);
create table _pages (id integer primary key, site integer not null, url text not null, title text not null,
                     kind text not null, date text, type text, entity integer, body text not null,
                     number integer, last integer, members integer);
create table _claims (id integer primary key, attribute integer not null, entity integer not null, value,
                      reason text not null, site integer not null, since text, until text);
create table _mentions (page integer not null, type integer not null, entity integer not null, stated text not null,
                        claims text, primary key (page, type, entity)) without rowid;
create table _places (place integer primary key);
create view _statements as
  select m.page, m.type, m.entity, unicode(substr(m.stated, 4 * p.place + 1, 1)) as attribute,
         64 * unicode(substr(m.stated, 4 * p.place + 2, 1)) + unicode(substr(m.stated, 4 * p.place + 3, 1)) - 128 as start,
         unicode(substr(m.stated, 4 * p.place + 4, 1)) - 1 as length,
         case when m.claims is not null
         then json_extract(m.claims, '$."' || unicode(substr(m.stated, 4 * p.place + 1, 1)) || '"') end as claim
  from _mentions m cross join _places p on p.place < length(m.stated) / 4;
create table _targets (page integer primary key, targets text not null);
create view _links as select l.page, t.value as target from _targets l cross join json_each(l.targets) t;
create virtual table _index using fts5 (title, body, content='_pages', content_rowid='id', tokenize='unicode61 remove_diacritics 2');
