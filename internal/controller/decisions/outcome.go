package decisions

import (
	"fmt"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/controller/events"
)

// Outcome is what became of the NodeClaims that a decision made, by their numbers. A NodeClaim that was refused is gone, and its pods
// are decided on again.
type Outcome struct {
	Asked    int `json:"asked,omitempty"` // EC2 has not answered yet
	Launched int `json:"launched,omitempty"`
	Refused  int `json:"refused,omitempty"`
	Ended    int `json:"ended,omitempty"` // they were launched, and are gone
	// Why is why the last of those that were refused was.
	Why string `json:"why,omitempty"`
}

// Text says it in some words.
func (o *Outcome) Text() string {
	var words []string
	for _, x := range []struct {
		n    int
		what string
	}{{o.Launched, "launched"}, {o.Asked, "asked for now"}, {o.Refused, "refused"}, {o.Ended, "ended since"}} {
		if x.n > 0 {
			words = append(words, fmt.Sprint(x.n, " ", x.what))
		}
		if x.what == "refused" && x.n > 0 && o.Why != "" {
			words[len(words)-1] += ": " + o.Why
		}
	}
	return strings.Join(words, ", ")
}

// fate is what became of a NodeClaim; one that nothing was heard of is being asked for.
type fate struct {
	launched, refused, ended bool
	why                      string
}

// fatesMost is of how many NodeClaims it is remembered: those of some decisions of the largest clusters.
const fatesMost = 10_000

// refusals are the reasons of events by which a NodeClaim is given up that had no instance.
var refusals = map[string]bool{events.InsufficientCapacityError: true, events.NodeClassNotReady: true, events.LaunchTimeout: true}

// Heard takes in an event that the controller wrote: those of NodeClaims tell what became of them. It does not block.
func (r *Ring) Heard(object runtime.Object, reason, message string) {
	claim, ok := object.(*karpv1.NodeClaim)
	if r == nil || !ok {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	f, known := r.fates[claim.Name]
	switch {
	case reason == events.Launched && strings.HasPrefix(message, "launched "): // others tell of the condition
		f.launched = true
	case refusals[reason]:
		f.refused, f.why = true, inShort(message)
	case reason == events.Finalized:
		f.ended = true
	default:
		return
	}
	if !known {
		if r.fates == nil {
			r.fates = map[string]fate{}
		}
		r.fated = append(r.fated, claim.Name)
		if over := len(r.fated) - fatesMost; over > 0 {
			for _, name := range r.fated[:over] {
				delete(r.fates, name)
			}
			r.fated = append([]string(nil), r.fated[over:]...)
		}
	}
	r.fates[claim.Name] = f
}

// Finished takes in how a command ended, by its command-id: failed is why it was given up, empty where it was carried out. It does not
// block.
func (r *Ring) Finished(command, failed string) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended == nil {
		r.ended = map[string]string{}
	}
	if _, known := r.ended[command]; !known {
		r.over = append(r.over, command)
		if len(r.over) > fatesMost {
			delete(r.ended, r.over[0])
			r.over = append([]string(nil), r.over[1:]...)
		}
	}
	r.ended[command] = failed
}

// moved fills in what became of the moves of a decision. Callers hold mu.
func (r *Ring) moved(s *Summary) {
	for _, id := range s.Commands {
		switch failed, over := r.ended[id]; {
		case !over:
		case failed == "":
			s.Done++
		default:
			s.GivenUp, s.Why = s.GivenUp+1, failed
		}
	}
}

// became is what became of the moves, as a clause; empty while nothing is known of it.
func (s *Summary) became() string {
	var words []string
	if s.Done > 0 {
		words = append(words, fmt.Sprint(s.Done, " done"))
	}
	if s.GivenUp > 0 {
		words = append(words, fmt.Sprint(s.GivenUp, " given up: ", s.Why))
	}
	if len(words) == 0 {
		return ""
	}
	return " (" + strings.Join(words, ", ") + ")"
}

// outcome is what became of NodeClaims; nil for none. Callers hold mu.
func (r *Ring) outcome(claims []string) *Outcome {
	if len(claims) == 0 {
		return nil
	}
	out := &Outcome{}
	for _, name := range claims {
		switch f := r.fates[name]; {
		case f.refused:
			out.Refused++
			out.Why = f.why
		case f.ended:
			out.Ended++
		case f.launched:
			out.Launched++
		default:
			out.Asked++
		}
	}
	return out
}

// code is an error code of EC2 at the beginning of what it said, such as VcpuLimitExceeded.
var code = regexp.MustCompile(`^[A-Z][A-Za-z]*[a-z][A-Z][A-Za-z.]*`)

// whyMost is how long a reason may be in a list, in bytes.
const whyMost = 120

// inShort is EC2's error code, where a message of a failed launch has one, else its first sentence.
func inShort(message string) string {
	text := message
	if _, said, ok := strings.Cut(message, ": creating a fleet: "); ok {
		text = said
	}
	if c := code.FindString(text); c != "" {
		return c
	}
	text, _, _ = strings.Cut(text, "; ")
	if len(text) > whyMost {
		text = strings.ToValidUTF8(text[:whyMost], "") + "…"
	}
	return text
}
