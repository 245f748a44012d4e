package bench

import (
	"compress/gzip"
	"encoding/csv"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/pack"
	"github.com/kerf-sh/kerf/internal/engine/requirement"
	"github.com/kerf-sh/kerf/internal/engine/res"
	"github.com/kerf-sh/kerf/internal/sim/scenario"
)

// Input is one workload. The same name is the same problem, byte for byte.
type Input struct {
	Name string
	What string
	// Slow inputs take upstream minutes.
	Slow bool
	// Consolidate tells that nothing is pending and nodes are to go.
	Consolidate bool
	Make        func() (*pack.Problem, error)
}

// ErrNoTrace tells that a recorded workload is not on this instance; they are not part of the project.
var ErrNoTrace = errors.New("the trace is not here; set KERF_WORKLOADS to its folder")

const seed = 1

// Inputs are all workloads, the quick ones of each kind first.
func Inputs() []Input {
	return []Input{
		generic(100, false), generic(1000, false), generic(5000, false), generic(20000, true),
		preferring(400, false, false), preferring(400, true, false), preferring(4000, false, true), preferring(4000, true, false),
		mix(500, false, false), mix(500, true, false), mix(2000, false, false), mix(10000, false, true),
		openb(2000, 500, false), openb(0, 1<<30, true),
		field(100, 170, 47, false), field(1060, 1700, 470, true),
		fragmented(100, false), fragmented(300, true), fragmented(700, true), fragmented(2000, true),
	}
}

func generic(pods int, slow bool) Input {
	return Input{Name: fmt.Sprintf("generic-%d", pods), Slow: slow,
		What: "400 generated types, one pool, pods in five parts: plain, spread over zones, over hosts, together in a zone, apart by host",
		Make: func() (*pack.Problem, error) { return scenario.Generate(pods, 400, seed), nil }}
}

func preferring(pods int, ignore, slow bool) Input {
	in := Input{Name: fmt.Sprintf("prefer-%d", pods), Slow: slow, What: "the same types; every pod would rather not share a host with any other",
		Make: func() (*pack.Problem, error) {
			p := scenario.Generate(pods, 400, seed)
			p.Options.IgnorePreferences = ignore
			interned := map[string]*cluster.Class{}
			for _, pod := range p.Pending {
				c := &cluster.Class{Namespace: "default", Labels: map[string]string{"app": "nginx"}, Requests: pod.Class.Requests}
				c.AntiAffinity = []cluster.PodAffinity{{Key: requirement.Hostname, Namespaces: []string{"default"}, Weight: 1,
					Selector: &cluster.Selector{Terms: []requirement.Term{{Key: "app", Operator: requirement.In, Values: []string{"nginx"}}}}}}
				c.ID = c.Hash()
				if interned[c.ID] == nil {
					interned[c.ID] = c
				}
				pod.Class = interned[c.ID]
			}
			return p, nil
		}}
	if ignore {
		in.Name += "-ignored"
		in.What += ", and both are told to ignore it"
	}
	return in
}

// mix restricts the pool to the categories that upstream's guide begins with, unless it may launch any type: upstream fills
// an instance for as long as there is a larger one, and the largest of other categories are priced for other work.
func mix(pods int, anyType, slow bool) Input {
	in := Input{Name: fmt.Sprintf("mix-%d", pods), Slow: slow,
		What: "real types and prices of a region in three zones; web, memory-heavy and batch pods in some 60 sizes",
		Make: func() (*pack.Problem, error) {
			p, err := scenario.Mix(pods, seed)
			if err == nil && !anyType {
				p.Pools[0].Requirements = append(p.Pools[0].Requirements, requirement.Term{Key: "karpenter.k8s.aws/instance-category",
					Operator: requirement.In, Values: []string{"c", "m", "r"}})
			}
			return p, err
		}}
	if anyType {
		in.Name = fmt.Sprintf("mix-any-%d", pods)
		return in
	}
	in.What += "; types of the categories c, m and r"
	return in
}

func field(nodes, hopeless, small int, slow bool) Input {
	return Input{Name: fmt.Sprintf("field-%d", nodes), Slow: slow,
		What: fmt.Sprintf("%d full nodes, 20 pools over the real types, %d pods that no pool can serve and %d small ones", nodes, hopeless, small),
		Make: func() (*pack.Problem, error) { return scenario.Field(nodes, hopeless, small, seed) }}
}

func fragmented(nodes int, slow bool) Input {
	return Input{Name: fmt.Sprintf("consolidate-%d", nodes), Slow: slow, Consolidate: true,
		What: fmt.Sprintf("%d nodes of real types with 15 pods each, used to 30 %%; nothing is pending", nodes),
		Make: func() (*pack.Problem, error) {
			return scenario.Fragmented(scenario.Fragmentation{Nodes: nodes, Pods: 15, Percent: 30, Seed: seed})
		}}
}

// openb takes rows of a trace of a real cluster. A share of a GPU counts as a whole one.
func openb(from, n int, slow bool) Input {
	name := "openb-all"
	if n < 1<<30 {
		name = fmt.Sprintf("openb-%d", n)
	}
	return Input{Name: name, Slow: slow, What: "tasks of a recorded GPU cluster, all at once, over the real types of a region in three zones",
		Make: func() (*pack.Problem, error) {
			rows, err := traceRows("openb-gpu-cluster.csv.gz")
			if err != nil {
				return nil, err
			}
			rows = rows[min(from, len(rows)):]
			return openbProblem(rows[:min(n, len(rows))])
		}}
}

func openbProblem(rows [][]string) (*pack.Problem, error) {
	types, err := scenario.RegionTypes("us-east-1", 3)
	if err != nil {
		return nil, err
	}
	p := scenario.Generate(1, 1, seed)
	p.Pools[0].Types, p.Pending = types, nil
	interned := map[string]*cluster.Class{}
	for i, row := range rows {
		var x [3]int64
		for k := range x {
			if x[k], err = strconv.ParseInt(row[2+k], 10, 64); err != nil {
				return nil, fmt.Errorf("trace: row %d: %w", i, err)
			}
		}
		c := &cluster.Class{Namespace: "default", Requests: res.List{res.CPU: x[0], res.Memory: x[1] << 20, res.Pods: 1}}
		if x[2] > 0 {
			c.Requests["nvidia.com/gpu"] = x[2]
		}
		c.ID = c.Hash()
		if interned[c.ID] == nil {
			interned[c.ID] = c
		}
		p.Pending = append(p.Pending, &cluster.Pod{PodRef: cluster.PodRef{Namespace: "default", Name: fmt.Sprint("task-", i), UID: fmt.Sprint("task-", i)},
			Class: interned[c.ID], CreatedAt: scenario.Start.Add(time.Duration(i-len(rows)) * time.Second)})
	}
	return p, nil
}

// traceRows reads a recorded workload from KERF_WORKLOADS, or from where it lies beside a checkout.
func traceRows(name string) ([][]string, error) {
	dirs := []string{"../shared/workloads", "../../shared/workloads"}
	if dir := os.Getenv("KERF_WORKLOADS"); dir != "" {
		dirs = []string{dir}
	}
	i := slices.IndexFunc(dirs, func(dir string) bool {
		_, err := os.Stat(filepath.Join(dir, name))
		return !errors.Is(err, fs.ErrNotExist)
	})
	if i < 0 {
		return nil, ErrNoTrace
	}
	f, err := os.Open(filepath.Join(dirs[i], name))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	rows, err := csv.NewReader(z).ReadAll()
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	return rows[1:], nil
}
