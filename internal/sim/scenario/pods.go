package scenario

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/requirement"
	"github.com/kerf-sh/kerf/internal/engine/res"
)

// makePods makes count pods of the class that the arguments and lines describe.
func (e *Env) makePods(a *args, lines []string) ([]*cluster.Pod, error) {
	name := a.word()
	if name == "" {
		return nil, fmt.Errorf("wants a name")
	}
	c := &cluster.Class{Namespace: a.text("namespace", "default"), Priority: int32(a.number("priority", 0)), Unplaceable: a.text("unplaceable", "")}
	if c.Virtual = a.flag("virtual"); c.Virtual {
		c.Priority = math.MinInt32
	}
	count, ends := a.number("count", 1), a.text("terminating", "")
	if ends != "" && ends != "soon" && ends != "late" {
		return nil, fmt.Errorf("terminating=%s: want soon or late", ends)
	}
	age, err := time.ParseDuration(a.text("age", "0s"))
	if err != nil {
		return nil, fmt.Errorf("age: %w", err)
	}
	c.Labels = map[string]string{"app": name}
	for _, pair := range a.list("labels") {
		k, v, _ := strings.Cut(pair, ":")
		c.Labels[k] = v
	}
	if c.Attach, err = parseList(a.list("attach")); err != nil {
		return nil, err
	}
	for _, item := range a.list("shared") {
		driver, volume, _ := strings.Cut(item, ":")
		c.Shared = append(c.Shared, cluster.SharedVolume{Driver: driver, Volume: volume})
	}
	c.Requests = a.resources()
	c.Requests[res.Pods] = 1
	e.doubt(name, c.Requests)
	if err := a.done(); err != nil {
		return nil, err
	}
	// Labels first: constraints select by them.
	slices.SortStableFunc(lines, func(x, y string) int {
		return lineRank(x) - lineRank(y)
	})
	for _, line := range lines {
		if err := podLine(c, line); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	c.ID = c.Hash()
	key := c.Namespace + "/" + name
	var out []*cluster.Pod
	for range count {
		e.serial[key]++
		n := e.serial[key]
		out = append(out, &cluster.Pod{
			PodRef:    cluster.PodRef{Namespace: c.Namespace, Name: name + "-" + strconv.Itoa(n), UID: fmt.Sprintf("%s-%d", key, n)},
			Class:     c,
			CreatedAt: Start.Add(-age), Terminating: ends != "", Lingers: ends == "late",
		})
	}
	return out, nil
}

func lineRank(line string) int {
	if strings.HasPrefix(line, "label ") {
		return 0
	}
	return 1
}

// doubt warns of amounts that are likely a slip.
func (e *Env) doubt(name string, r res.List) {
	if r[res.CPU] > 1_000_000 {
		e.warnings = append(e.warnings, fmt.Sprintf("%s asks for %s cpu, which is likely accidental", name, res.Format(res.CPU, r[res.CPU])))
	}
	if m := r[res.Memory]; m > 0 && m < 1<<20 {
		e.warnings = append(e.warnings, fmt.Sprintf("%s asks for %s memory, which is likely accidental", name, res.Format(res.Memory, m)))
	}
}

func podLine(c *cluster.Class, line string) error {
	word, rest, _ := strings.Cut(line, " ")
	switch word {
	case "label":
		k, v, _ := strings.Cut(rest, "=")
		c.Labels[k] = v
	case "select":
		t, err := parseTerm(rest)
		c.Selector = append(c.Selector, t)
		return err
	case "affinity", "volume", "prefer":
		return nodeAffinity(c, word, rest)
	case "tolerate":
		c.Tolerations = append(c.Tolerations, parseToleration(rest))
	case "port":
		return hostPort(c, rest)
	case "spread":
		return spread(c, rest)
	case "together", "apart":
		return podAffinity(c, word, rest)
	default:
		return fmt.Errorf("unknown line %q", line)
	}
	return nil
}

func nodeAffinity(c *cluster.Class, word, rest string) error {
	terms, err := parseTerms(rest)
	switch word {
	case "affinity":
		c.Affinity = append(c.Affinity, terms)
	case "volume":
		c.Volumes = append(c.Volumes, terms)
	case "prefer":
		c.Preferred = append(c.Preferred, cluster.WeightedTerms{Weight: 1, Terms: terms})
	}
	return err
}

// parseToleration reads "key", "key=value", either with ":Effect", or "all".
func parseToleration(text string) cluster.Toleration {
	if text == "all" {
		return cluster.Toleration{Exists: true}
	}
	left, effect, _ := strings.Cut(text, ":")
	key, value, equal := strings.Cut(left, "=")
	return cluster.Toleration{Key: key, Value: value, Exists: !equal, Effect: cluster.Effect(effect)}
}

func hostPort(c *cluster.Class, text string) error {
	number, protocol, ok := strings.Cut(text, "/")
	if !ok {
		protocol = "TCP"
	}
	n, err := strconv.ParseUint(number, 10, 16)
	if err != nil {
		return fmt.Errorf("port %q: want NUMBER/PROTOCOL", text)
	}
	c.HostPorts = append(c.HostPorts, cluster.HostPort{Port: int32(n), Protocol: protocol})
	return nil
}

func spread(c *cluster.Class, rest string) error {
	a, err := parseArgs(rest)
	if err != nil {
		return err
	}
	sp := cluster.Spread{Key: longKey(a.word()), MaxSkew: a.number("skew", 1), MinDomains: a.number("min-domains", 0)}
	sp.Soft, sp.HonorTaints, sp.IgnoreAffinity = a.flag("soft"), a.flag("honor-taints"), a.flag("ignore-affinity")
	sp.Selector = selector(c, a)
	c.Spreads = append(c.Spreads, sp)
	return a.done()
}

func podAffinity(c *cluster.Class, word, rest string) error {
	a, err := parseArgs(rest)
	if err != nil {
		return err
	}
	t := cluster.PodAffinity{Key: longKey(a.word()), Namespaces: []string{c.Namespace}, Weight: a.number("weight", 0), Selector: selector(c, a)}
	if ns := a.list("namespaces"); ns != nil {
		t.Namespaces = slices.Sorted(slices.Values(ns))
	}
	if word == "apart" {
		c.AntiAffinity = append(c.AntiAffinity, t)
	} else {
		c.PodAffinity = append(c.PodAffinity, t)
	}
	return a.done()
}

// selector is match=key:value,…, by default the class's own labels.
func selector(c *cluster.Class, a *args) *cluster.Selector {
	labels := map[string]string{}
	for _, pair := range a.list("match") {
		k, v, _ := strings.Cut(pair, ":")
		labels[k] = v
	}
	if len(labels) == 0 {
		labels = c.Labels
	}
	s := &cluster.Selector{}
	for _, k := range slices.Sorted(maps.Keys(labels)) {
		s.Terms = append(s.Terms, requirement.Term{Key: k, Operator: requirement.In, Values: []string{labels[k]}})
	}
	return s
}
