#!/usr/bin/env bash
# A call through Quotashare over NATS, with bash and the command line of NATS
# (https://github.com/nats-io/natscli).
#
#   examples/call-nats.sh [CALL [TIME]]
#
# It publishes what earlier calls used, asks whether one more may be made and holds room
# for it, makes it, publishes what it used and what the provider said, gives a second call
# up, and prints how the key stands. CALL names the call, TIME is when all of it happened;
# left out, they are new. Run again with both, as after a crash, nothing is counted twice.
#
# QUOTA_STORE_NATS_URL (nats://127.0.0.1:4222) is where the engine is: several parted by
# commas, tls:// for TLS. Who we are there says QUOTA_STORE_NATS_USER, a file with
# name:password, or the URL, or QUOTA_API_TOKEN; QUOTA_NATS_CA is a file of certificates to
# trust. QUOTA_KEY (alice) and QUOTA_CONNECTION (kimi-1) say whose call it is and where to,
# QUOTA_PATIENCE (60) for how many seconds an event is sent again. examples/README.md has
# the rules it follows.
#
# Names are put into JSON as they are, and answers are read with grep: where there is jq,
# use it.
set -euo pipefail

command -v nats >/dev/null || {
	printf 'call-nats: nats is not there, the command line of NATS: https://github.com/nats-io/natscli\n' >&2
	exit 1
}

# What the command line of NATS reads, so that no password is seen by others.
export NATS_URL=${QUOTA_STORE_NATS_URL:-nats://127.0.0.1:4222}
[[ -z ${QUOTA_NATS_CA:-} ]] || export NATS_CA=$QUOTA_NATS_CA
inbox=_INBOX # where answers come: a user has its own, which no other reads
if [[ -n ${QUOTA_STORE_NATS_USER:-} ]]; then
	IFS=: read -r NATS_USER NATS_PASSWORD <"$QUOTA_STORE_NATS_USER" || true # no line end
	export NATS_USER NATS_PASSWORD
	inbox=_INBOX_$NATS_USER
elif [[ $NATS_URL =~ //([^:@/]+):[^@/]+@ ]]; then
	inbox=_INBOX_${BASH_REMATCH[1]}
elif [[ $NATS_URL != *@* && -n ${QUOTA_API_TOKEN:-} ]]; then
	export NATS_TOKEN=$QUOTA_API_TOKEN
fi
key=${QUOTA_KEY:-alice}
connection=${QUOTA_CONNECTION:-kimi-1}
patience=${QUOTA_PATIENCE:-60}
model=kimi-k2

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

say() { printf '%s\n' "$*" >&2; }

refused() { # what was sent is wrong, or we may not send it: again it would be no better
	say "call-nats: $*"
	exit 1
}

# field prints what the first field of that name is, in the JSON that it reads.
field() {
	{ grep -oE "\"$1\":(\"([^\"\\\\]|\\\\.)*\"|[^],}]*)" || true; } | head -n 1 | sed -E 's/^"[^"]*":"?//; s/"$//; s/\\(["\\/])/\1/g'
}

# request publishes a body once. It sets answer, and succeeds if it is one; else it sets why.
request() { # SUBJECT BODY SECONDS
	answer=$(nats request --raw --timeout "$3s" --inbox-prefix "$inbox" -H Content-Type:application/json "$1" "$2" 2>"$work/error") || answer=
	[[ $answer != *'"error":'* && -n $answer ]] && return
	why="no answer: $(tr '\n' ' ' <"$work/error")" # none in time, no connection, or nobody listens
	case $why in
	*[Aa]uthorization* | *[Pp]ermissions* | *"maximum payload"*) refused "$why" ;;
	esac
	if [[ -n $answer ]]; then # of the log: {"error":{"code","err_code","description"}}; of a question: {"error":{"message","type","code"}}
		why="$1: $(field description <<<"$answer")$(field message <<<"$answer")"
		[[ $answer != *'"message":'* || $answer == *'"code":"internal"'* ]] || refused "$why"
	fi
	return 1
}

# until_answered runs a command that succeeds, or sets why, until patience ends.
until_answered() {
	local end=$((SECONDS + patience)) pause=1 # tenths of a second
	until "$@"; do
		((SECONDS + pause / 10 <= end && pause < patience * 10)) || refused "given up: $why; what was sent may be sent again as it was"
		say "again in $((pause / 10)).$((pause % 10)) s: $why"
		sleep "$((pause / 10)).$((pause % 10))"
		pause=$((pause < 25 ? pause * 2 : 50))
	done
}

# publish publishes an array of events of one kind as one message, and sets seq, its
# sequence in the log. Their ids were given before the first try, so it does no harm that
# all of them are sent again when the acknowledgement is lost.
publish() { # SUBJECT BODY
	until_answered request "$1" "$2" 2
	seq=$(field seq <<<"$answer")
}

# admit asks whether a call may be made. Without an answer it may: quota must not stop
# all traffic because the engine is away. Whoever thinks otherwise blocks here.
admit() { # CALL BODY
	request quota.decide "$2" 2 && return
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
	local decision id
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
		publish quota.release '[{"apiKeyId":"'"$key"'","requestId":"'"$1"'"'${id:+,\"decisionId\":\"$id\"}'}]'
		return
	fi
	# The headers as they came. Which of them tell of a limit is not our business.
	publish quota.saturation '[{"id":"'"$1"'-headers","time":"'"$time"'","connectionId":"'"$connection"'","status":200,"headers":'"$headers"'}]'
	publish quota.consumption "[$(usage "$1-used" $tokens ',"requestId":"'"$1"'"')]" # settles the hold
	echo "$1: used $tokens tokens, settled"
}

standing() {
	request quota.decide '{"apiKeyId":"'"$key"'","connectionId":"'"$connection"'","explain":true,"minSeq":'"${seq:-0}"',"maxWaitMs":5000}' 10 || return 1
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
publish quota.consumption "[$(usage "$name-before-1" 40),$(usage "$name-before-2" 60)]"
echo "$name: published 2 events"
call "$name" hello
call "$name-again" fail
until_answered standing
show
