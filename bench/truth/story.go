package truth

import (
	"bytes"
	"embed"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/kerf-sh/kerf/internal/simulate/workload"
)

//go:embed stories
var files embed.FS

const (
	// Horizon is how much of a story is compared.
	Horizon = 10 * time.Minute
	// Warmup is how long what is there at the start of a story runs before.
	Warmup = 4 * time.Minute
	// boot is how long an instance takes from its launch to its node, give or take a fifth.
	boot = 40 * time.Second
)

// Story is a workload.
type Story struct {
	Name, What string
	trace      []byte
}

// Stories are those that are played.
//
// Errors: a trace that has no first line with what it is.
func Stories() ([]Story, error) {
	entries, err := files.ReadDir("stories")
	if err != nil {
		return nil, err
	}
	var out []Story
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), ".csv")
		if !ok {
			continue
		}
		trace, err := files.ReadFile(path.Join("stories", e.Name()))
		if err != nil {
			return nil, err
		}
		first, _, _ := bytes.Cut(trace, []byte("\n"))
		what, ok := strings.CutPrefix(string(first), "# ")
		if !ok {
			return nil, fmt.Errorf("stories/%s: the first line is to say what happens, as a comment", e.Name())
		}
		out = append(out, Story{Name: name, What: what, trace: trace})
	}
	order := []string{"waves", "fall", "breathing", "jobs", "rollout"}
	slices.SortStableFunc(out, func(a, b Story) int { return slices.Index(order, a.Name) - slices.Index(order, b.Name) })
	return out, nil
}

// workload is the story as both play it.
func (s Story) workload() (*workload.Workload, error) {
	w, err := workload.Read(s.Name+".csv", bytes.NewReader(s.trace), nil)
	if err != nil {
		return nil, fmt.Errorf("story %s: %w", s.Name, err)
	}
	return w, nil
}

// pool is the NodePool and EC2NodeClass of all stories.
func pool() []byte {
	b, err := files.ReadFile("stories/pool.yaml")
	if err != nil {
		panic(err) // it is compiled in
	}
	return b
}
