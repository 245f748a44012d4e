package scenario

import (
	"fmt"
	"strings"
	"time"

	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/pack"
	"github.com/kerf-sh/kerf/internal/engine/requirement"
)

// Env is the state of a running scenario.
type Env struct {
	Problem  *pack.Problem
	catalogs map[string][]*catalog.Type
	serial   map[string]int // pods named so far, by prefix
	upkeep   upkeep
	warnings []string
}

// Start is the moment at which every scenario takes place.
var Start = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// New returns an empty scenario.
func New() *Env {
	e := &Env{}
	e.reset()
	return e
}

func (e *Env) reset() {
	e.Problem = &pack.Problem{Now: Start, Generation: 1, Options: pack.Options{WellKnown: WellKnown()}}
	e.catalogs = map[string][]*catalog.Type{}
	e.serial = map[string]int{}
	e.upkeep = upkeep{}
	e.warnings = nil
}

// Run carries out one step and returns what it prints.
//
// Errors name the command or the input line and what was not understood.
func (e *Env) Run(head, input string) (string, error) {
	a, err := parseArgs(head)
	if err != nil {
		return "", err
	}
	cmd := a.word()
	handler, ok := commands[cmd]
	if !ok {
		return "", fmt.Errorf("unknown command %q", cmd)
	}
	var lines []string
	for line := range strings.SplitSeq(input, "\n") {
		line = strings.TrimSpace(line)
		if line != "" && !strings.HasPrefix(line, "#") {
			lines = append(lines, line)
		}
	}
	out, err := handler(e, a, lines)
	if err != nil {
		return "", fmt.Errorf("%s: %w", cmd, err)
	}
	if err := a.done(); err != nil {
		return "", fmt.Errorf("%s: %w", cmd, err)
	}
	for _, w := range e.warnings {
		out += "WARNING: " + w + "\n"
	}
	e.warnings = nil
	return out, nil
}

// RunAll runs the steps and returns them with Want replaced by what they printed.
func (e *Env) RunAll(steps []Step) []Step {
	out := make([]Step, len(steps))
	for i, s := range steps {
		out[i] = s
		if s.Head == "" {
			continue
		}
		text, err := e.Run(s.Head, s.Input)
		if err != nil {
			text += "error: " + err.Error() + "\n"
		}
		out[i].Want = text
		out[i].Silent = s.Silent && text == ""
	}
	return out
}

type handler func(e *Env, a *args, lines []string) (string, error)

var commands map[string]handler

func init() {
	commands = map[string]handler{
		"catalog":  (*Env).catalog,
		"types":    (*Env).types,
		"pool":     (*Env).pool,
		"node":     (*Env).node,
		"pods":     (*Env).pods,
		"daemon":   (*Env).daemon,
		"options":  (*Env).options,
		"problem":  (*Env).problem,
		"solve":    (*Env).solve,
		"apply":    (*Env).apply,
		"instance": (*Env).instance,
		"policy":   (*Env).policy,
		"block":    (*Env).block,
		"cost":     (*Env).cost,

		"consolidate": (*Env).consolidate,
		"roll":        (*Env).roll,
		"explain":     (*Env).explain,
		"reset":       func(e *Env, _ *args, _ []string) (string, error) { e.reset(); return "", nil },
	}
}

// short names of label keys that stories may use.
var shortKeys = map[string]string{
	"zone": requirement.Zone, "zone-id": requirement.ZoneID, "arch": requirement.Arch, "os": requirement.OS,
	"capacity-type": requirement.CapacityType, "instance-type": requirement.InstanceType,
	"hostname": requirement.Hostname, "nodepool": requirement.NodePool,
	"family": familyKey, "size": sizeKey, "cpu-count": cpuKey,
}

func longKey(k string) string {
	if long, ok := shortKeys[k]; ok {
		return long
	}
	return k
}

// parseTerm reads "KEY OPERATOR VALUES…", with "min N" at the end for minValues.
func parseTerm(line string) (requirement.Term, error) {
	words := strings.Fields(strings.ReplaceAll(line, ",", " "))
	if len(words) == 1 {
		if k, v, ok := strings.Cut(words[0], "="); ok {
			return requirement.Term{Key: longKey(k), Operator: requirement.In, Values: []string{v}}, nil
		}
	}
	if len(words) < 2 {
		return requirement.Term{}, fmt.Errorf("%q: want KEY OPERATOR VALUES, or KEY=VALUE", line)
	}
	t := requirement.Term{Key: longKey(words[0]), Operator: requirement.Operator(words[1]), Values: words[2:]}
	if n := len(t.Values); n >= 2 && t.Values[n-2] == "min" {
		if _, err := fmt.Sscan(t.Values[n-1], &t.MinValues); err != nil {
			return t, fmt.Errorf("%q: min needs a number", line)
		}
		t.Values = t.Values[:n-2]
	}
	if len(t.Values) == 0 {
		t.Values = nil
	}
	_, err := requirement.NewVocabulary().Parse([]requirement.Term{t})
	return t, err
}

// parseTerms reads terms separated by " and ".
func parseTerms(line string) ([]requirement.Term, error) {
	var out []requirement.Term
	for part := range strings.SplitSeq(line, " and ") {
		t, err := parseTerm(part)
		if err != nil {
			return nil, err
		}
		out = append(out, t)
	}
	return out, nil
}

// parseTaint reads "key=value:Effect" or "key:Effect".
func parseTaint(text string) (cluster.Taint, error) {
	left, effect, ok := strings.Cut(text, ":")
	key, value, _ := strings.Cut(left, "=")
	t := cluster.Taint{Key: key, Value: value, Effect: cluster.Effect(effect)}
	switch t.Effect {
	case cluster.NoSchedule, cluster.PreferNoSchedule, cluster.NoExecute:
		return t, nil
	}
	return t, fmt.Errorf("taint %q: want key=value:Effect, found effect %q (%v)", text, effect, ok)
}
