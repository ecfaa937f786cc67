#!/usr/bin/env bash
# A call through Quotashare over HTTP, with bash and curl.
#
#   examples/call-http.sh [CALL [TIME]]
#
# It publishes what earlier calls used, asks whether one more may be made and holds room
# for it, makes it, publishes what it used and what the provider said, gives a second call
# up, and prints how the key stands. CALL names the call, TIME is when all of it happened;
# left out, they are new. Run again with both, as after a crash, nothing is counted twice.
#
# QUOTA_URL (http://127.0.0.1:8480) and QUOTA_API_TOKEN say where the engine is, QUOTA_KEY
# (alice) and QUOTA_CONNECTION (kimi-1) whose call it is and where to, QUOTA_PATIENCE (60)
# for how many seconds an event is sent again. examples/README.md has the rules it follows.
#
# Names are put into JSON as they are, and answers are read with grep: where there is jq,
# use it.
set -euo pipefail

command -v curl >/dev/null || {
	printf 'call-http: curl is not there\n' >&2
	exit 1
}

url=${QUOTA_URL:-http://127.0.0.1:8480}
key=${QUOTA_KEY:-alice}
connection=${QUOTA_CONNECTION:-kimi-1}
patience=${QUOTA_PATIENCE:-60}
model=kimi-k2

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

say() { printf '%s\n' "$*" >&2; }

refused() { # what was sent is wrong, or we may not send it: again it would be no better
	say "call-http: $*"
	exit 1
}

# field prints what the first field of that name is, in the JSON that it reads.
field() {
	{ grep -oE "\"$1\":(\"([^\"\\\\]|\\\\.)*\"|[^],}]*)" || true; } | head -n 1 | sed -E 's/^"[^"]*":"?//; s/"$//; s/\\(["\\/])/\1/g'
}

# is_answer says whether the answer is one to what was sent to a path. A login page of the
# network, or another program at the address, says 200 too.
is_answer() { # PATH
	case $1 in
	*/decide) [[ $answer == '{'*'"decision":"'* ]] ;;
	*) [[ $answer == '{'*'"results":[{'* ]] ;;
	esac
}

# post sends a body once. It sets answer, and succeeds if it is one; else it sets why, and
# after, the seconds that the engine wants us to wait.
post() { # PATH BODY SECONDS
	local status
	status=$(printf '%s' "$2" | curl -sS --max-time "$3" -o "$work/answer" -D "$work/headers" -w '%{http_code}' \
		-H 'Content-Type: application/json' ${QUOTA_API_TOKEN:+-H @<(printf 'Authorization: Bearer %s' "$QUOTA_API_TOKEN")} \
		--data-binary @- "${url%/}$1" 2>"$work/error") || status=000 # no connection, no answer in time, half of one
	after=
	case $status in
	2??)
		answer=$(tr -d '\0' <"$work/answer")
		is_answer "$1" && return 0
		why="$status: no answer of Quotashare: is $url its address? It says '${answer:0:60}'"
		return 1
		;;
	000)
		why="no answer: $(cat "$work/error")"
		return 1
		;;
	esac
	why="$status: $(field message <"$work/answer")"
	case $status in
	429 | 5??) after=$(sed -nE 's/^[Rr]etry-[Aa]fter: *0*([0-9]{1,9})\r?$/\1/p' "$work/headers" | tail -n 1) ;;
	*) refused "$why" ;;
	esac
	return 1
}

# until_answered runs a command that succeeds, or sets why and after, until patience ends.
until_answered() {
	local end=$((SECONDS + patience)) pause=1 wait # tenths of a second
	until "$@"; do
		wait=$((${after:-0} > 0 ? after * 10 : pause))
		((SECONDS + wait / 10 <= end && pause < patience * 10)) || refused "given up: $why; what was sent may be sent again as it was"
		say "again in $((wait / 10)).$((wait % 10)) s: $why"
		sleep "$((wait / 10)).$((wait % 10))"
		pause=$((pause < 25 ? pause * 2 : 50))
	done
}

# publish publishes an array of events and sets seq, from which on an answer knows them.
# Their ids were given before the first try, so it does no harm that all of them are sent
# again when the answer is lost, or some could not be stored.
publish() { # PATH BODY
	until_answered stored "$1" "$2"
	# One that is "spooled" has no sequence yet.
	seq=$(grep -oE '"seq":[0-9]+' <<<"$answer" | cut -d : -f 2 | sort -n | tail -n 1 || true)
}

stored() { # PATH BODY
	post "$1" "$2" 10 || return 1
	[[ $answer == *'"error":'* ]] || return 0
	# One line for each result; those of events have the number of the event.
	why=$(sed 's/},{"/}\n{"/g' <<<"$answer" | grep -n '"error":' | while IFS=: read -r line result; do
		printf 'event %s: %s; ' "$line" "$(field message <<<"$result")"
	done)
	[[ $answer =~ \"code\":\"(unavailable|busy|stopping|timeout|internal)\" ]] || refused "${why%; }"
	return 1 # no fault of the events
}

# admit asks whether a call may be made. Without an answer it may: quota must not stop
# all traffic because the engine is away. Whoever thinks otherwise blocks here.
admit() { # CALL BODY
	post /api/quota/decide "$2" 2 && return
	say "$1: $why"
	answer='{"decision":"allow","reason":"fail-open"}'
}

# usage prints the event of a call. Its id and its time never change, however often it is
# sent.
usage() { # ID TOKENS [MORE]
	printf '{"id":"%s","time":"%s","apiKeyId":"%s","connectionId":"%s","model":"%s","cost":{"tokens":%d}%s}' \
		"$1" "$time" "$key" "$connection" "$model" "$2" "${3:-}"
}

# provider stands for the call to the provider: it sets headers, and tokens that it states.
provider() { # PROMPT
	[[ $1 != fail ]] || return 1
	headers='{"x-ratelimit-limit-requests":"500","x-ratelimit-remaining-requests":"499","x-ratelimit-reset-requests":"120ms"}'
	tokens=150
}

# call is one call, from the question to its settlement.
call() { # CALL PROMPT
	local decision id event
	admit "$1" '{"apiKeyId":"'"$key"'","connectionId":"'"$connection"'","model":"'$model'","estimate":{"tokens":300},
		"reserve":true,"requestId":"'"$1"'","leaseMs":60000,"maxWaitMs":1000}'
	decision=$(field decision <<<"$answer")
	[[ $answer != *'"degraded":'* ]] || say "$1: degraded: $(grep -o '"degraded":[^]]*' <<<"$answer" | cut -d '[' -f 2)"
	echo "$1: $decision ($(field reason <<<"$answer"))"
	if [[ $decision == block ]]; then # it holds nothing
		echo "$1: $(field httpStatus <<<"$answer"), $(field message <<<"$answer")"
		return
	fi
	id=$(field decisionId <<<"$answer")
	if ! provider "$2"; then
		echo "$1: the provider failed, released"
		# With decisionId it ends the hold of this decision, and none that came later.
		publish /api/quota/release '[{"apiKeyId":"'"$key"'","requestId":"'"$1"'"'${id:+,\"decisionId\":\"$id\"}'}]'
		return
	fi
	# The headers as they came. Which of them tell of a limit is not our business.
	event='{"type":"quota.saturation","id":"'"$1"'-headers","time":"'"$time"'","connectionId":"'"$connection"'","status":200,"headers":'$headers'}'
	publish /api/quota/events "[$event,$(usage "$1-used" $tokens ',"requestId":"'"$1"'"')]" # settles the hold
	echo "$1: used $tokens tokens, settled"
}

standing() {
	post /api/quota/decide '{"apiKeyId":"'"$key"'","connectionId":"'"$connection"'","explain":true,"minSeq":'"${seq:-0}"',"maxWaitMs":5000}' 10 || return 1
	why="the answer does not know sequence ${seq:-0} yet"
	[[ $answer != *'"min-seq"'* ]]
}

# show prints how the key stands, from a state that knows all that was published.
show() {
	local dimensions=${answer#*\"dimensions\":} one limit
	if [[ $dimensions == '[]'* ]]; then
		echo "$key on $connection: nothing limits it ($(field reason <<<"$answer"))"
	fi
	grep -oE '\{"unit":[^}]*\}' <<<"${dimensions//\},\{/\}$'\n'\{}" | while read -r one; do
		limit=$(field limit <<<"$one")
		echo "$key on $connection: $(field consumed <<<"$one") of ${limit/null/an unknown number of} $(field unit <<<"$one") $(field window <<<"$one") used, $(field held <<<"$one") held"
	done || true
}

name=${1:-call-$(od -An -N4 -tx4 /dev/urandom | tr -d ' ')}
time=${2:-$(date -u +%Y-%m-%dT%H:%M:%SZ)}
publish /api/quota/events "[$(usage "$name-before-1" 40),$(usage "$name-before-2" 60)]"
echo "$name: published 2 events"
call "$name" hello
call "$name-again" fail
until_answered standing
show
