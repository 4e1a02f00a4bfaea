create unique index _pages_by_url on _pages (url);
create index _pages_by_entity on _pages (type, entity);
create index _mentions_by_entity on _mentions (entity, type);
insert or ignore into _places with recursive counted (place) as (
  select 0 union all select place + 1 from counted where 4 * place < (select max(length(stated)) from _mentions)
) select place from counted;
