"""The tables that every machine world has. Files live in the tree of a machine while an episode runs; SQL sees them in `files`."""

TABLES = """
create table files (
  host text not null,
  path text not null,
  kind text not null check (kind in ('file', 'directory', 'link', 'device')),
  mode text not null default '0644',
  owner text not null default 'root',
  "group" text not null default 'root',
  size integer not null default 0,
  modified text not null,
  content text,
  base64 text,
  target text,
  unique (host, path)
);
create table users (
  host text not null,
  name text not null,
  uid integer not null,
  home text not null,
  shell text not null default '/bin/bash',
  sudo integer not null default 0,
  unique (host, name)
);
create table groups (host text not null, name text not null, gid integer not null, unique (host, name));
create table memberships (
  host text not null,
  user text not null,
  "group" text not null,
  position integer not null default 1,
  unique (host, user, "group")
);
create table processes (
  host text not null,
  pid integer not null,
  parent integer not null default 1,
  user text not null default 'root',
  command text not null,
  state text not null default 'S',
  cpu real not null default 0,
  memory integer not null default 4096,
  started text not null,
  port integer,
  service text,
  unique (host, pid)
);
create table services (
  host text not null,
  name text not null,
  description text not null default '',
  state text not null default 'inactive' check (state in ('active', 'inactive', 'failed')),
  enabled integer not null default 0,
  command text not null default '',
  user text not null default 'root',
  port integer,
  requires text,
  changed text,
  unique (host, name)
);
create table crontab (host text not null, user text not null, schedule text not null, command text not null);
create table packages (
  host text not null,
  manager text not null check (manager in ('apt', 'pip')),
  name text not null,
  version text not null,
  unique (host, manager, name)
);
create table package_index (
  manager text not null check (manager in ('apt', 'pip')),
  name text not null,
  version text not null,
  summary text not null default '',
  requires text not null default '',
  size integer not null default 100000,
  unique (manager, name, version)
);
create table package_files (
  name text not null,
  version text not null,
  path text not null,
  content text,
  base64 text,
  unique (name, version, path)
);
create table mounts (host text not null, path text not null, read_only integer not null default 0, unique (host, path));
create table clocks (host text not null unique, ahead integer not null default 0, synchronized integer not null default 1);
create table journal (host text not null, moment text not null, unit text not null, pid integer, message text not null);
"""
"""DDL. `host` is the name of a machine, `modified` and `moment` are times such as `2031-03-03T09:00:20Z`, `size` and `memory` bytes
(of memory: KiB). A file that is no UTF-8 text has its content in `base64` instead of `content`. `requires` lists names with commas.
`ahead` says by how many seconds a machine's own clock is wrong.
`package_files` has what a Python package of the index brings, by its path in site-packages."""
