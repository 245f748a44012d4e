package plan

import (
	"fmt"
	"strings"

	"github.com/kerf-sh/kerf/internal/engine/requirement"
)

// Text words the reason for people: in events, conditions, the command line and the docs alike.
func (r Reason) Text() string {
	body := r.body()
	if r.Pool == "" {
		return body
	}
	return "pool " + r.Pool + ": " + body
}

func (r Reason) body() string {
	switch r.Code {
	case PoolNotReady:
		return "is not ready" + r.because(": ")
	case TaintNotTolerated:
		return fmt.Sprintf("the pod does not tolerate its taint %s", taintText(r.Key, r.Value))
	case LabelMismatch:
		return fmt.Sprintf("the pod wants %s, its nodes have %s", demandText(r.Key, r.Want), haveText(r.Have))
	case LabelUnknown:
		return r.labelUnknown()
	case NoTypeMatches:
		if r.Detail != "" {
			return fmt.Sprintf("none of the %d instance types with %s has %s", r.Types, r.Detail, demandText(r.Key, r.Want))
		}
		return typesText(r.Types, "has ", "lacks ") + demandText(r.Key, r.Want) + r.hint()
	case TooLarge:
		return r.tooLarge()
	case NoOffering:
		return typesText(r.Types, "can be launched now", "can't be launched now") + r.because(": ")
	case LimitReached:
		return fmt.Sprintf("its limit on %s leaves %s, the smallest node that would do adds %s", r.Resource, r.Have, r.Want)
	case NoAddresses:
		return fmt.Sprintf("its subnets have too few addresses for another node, which takes at least %s", r.Want) + r.because(": ")
	case HostPortTaken:
		if r.Detail != "" {
			return fmt.Sprintf("host port %s is kept for daemon %s, which runs on some of its nodes; on which is not looked at before they are launched", r.Key, r.Detail)
		}
		return fmt.Sprintf("host port %s is taken by a daemon on every node", r.Key)
	case TopologyUnmet:
		return fmt.Sprintf("no %s is left that keeps the spread even enough", r.Key) + r.because(": ")
	case AntiAffinityUnmet:
		return fmt.Sprintf("every %s holds a pod that must be kept apart", r.Key) + r.because(": ")
	case AffinityUnmet:
		return fmt.Sprintf("no %s with room holds a pod that it must be with", r.Key) + r.because(": ")
	case MinValuesUnmet:
		return fmt.Sprintf("%s values of %s must stay possible, %s would", r.Want, r.Key, r.Have)
	case Contradiction:
		return fmt.Sprintf("the pod's own demands on %s exclude each other", r.Key) + r.because(": ")
	case NoPools:
		return "there is no pool that could launch a node"
	case Unplaceable:
		return "can't run on any node" + r.because(": ")
	case NodesFull:
		return r.nodesFull()
	case TooDear:
		return r.tooDear()
	case ReservationPending:
		return "waits until it is settled who gets the reserved capacity" + r.because(": ")
	case AskedAgain:
		return "EC2 is asked again with one NodeClaim first"
	case CheckFailed:
		return "the plan failed its check"
	}
	return string(r.Code)
}

func (r Reason) labelUnknown() string {
	text := "the pod wants " + demandText(r.Key, r.Want)
	if r.Key == requirement.Hostname || r.Key == requirement.NodeName {
		return text + ", and what a new node will be called is not known before it is there"
	}
	return text + ", but its nodes do not have the label " + r.Key + r.hint()
}

func (r Reason) tooDear() string {
	text := "EC2 is short of " + r.Nearest
	if r.Resource != "" {
		text += ", next try at " + r.Resource
	}
	return fmt.Sprintf("%s; what is left costs %s, %s times the usual %s: up to %s times are paid until %s, twice as much from then on (KERF_PRICE_GUARD)",
		text, r.Want, r.Value, r.Have, r.Key, r.Detail)
}

func (r Reason) tooLarge() string {
	text := fmt.Sprintf("asks for %s %s, daemons included; ", r.Want, r.Resource)
	switch {
	case r.Nearest == "":
		return text + "no type has any"
	case r.Types == 1:
		return text + fmt.Sprintf("the only type that is left, %s, has %s", r.Nearest, r.Have)
	}
	return text + fmt.Sprintf("the largest of %s, %s, has %s", Count(r.Types, "type"), r.Nearest, r.Have)
}

func (r Reason) nodesFull() string {
	if r.Nearest == "" {
		return "no existing node is suited" + r.because(": ")
	}
	return fmt.Sprintf("existing nodes are full: %s is short on the roomiest, %s, which has %s of the %s asked for",
		r.Resource, r.Nearest, r.Have, r.Want)
}

func (r Reason) because(sep string) string {
	if r.Detail == "" {
		return ""
	}
	return sep + r.Detail
}

func (r Reason) hint() string {
	if r.Nearest == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %s?", r.Nearest)
}

func taintText(key, rest string) string {
	if rest == "" || strings.HasPrefix(rest, ":") {
		return key + rest
	}
	return key + "=" + rest
}

// demandText is the demand itself when it is worded already, and the bare key otherwise.
func demandText(key, want string) string {
	if want == "" {
		want = key
	}
	return strings.TrimPrefix(want, "field:")
}

func haveText(have string) string {
	if have == "" {
		return "none of it"
	}
	return have
}

// typesText says that none of so many types does something; doesNot says the same of one.
func typesText(n int, does, doesNot string) string {
	switch n {
	case 0:
		return "no instance type " + does
	case 1:
		return "the only instance type that is left " + doesNot
	}
	return fmt.Sprintf("none of %d instance types %s", n, does)
}
