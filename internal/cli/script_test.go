package cli

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/kerf-sh/kerf/internal/controller/decisions"
	"github.com/kerf-sh/kerf/internal/controller/overview"
	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/disrupt"
	"github.com/kerf-sh/kerf/internal/engine/pack"
	"github.com/kerf-sh/kerf/internal/engine/record"
	"github.com/kerf-sh/kerf/internal/sim/scenario"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"kerf": func() { os.Exit(Main(os.Args[1:], os.Stdout, os.Stderr)) }})
}

// TestScripts runs the command as people do.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:   "testdata/script",
		Setup: bringTemplates,
		Cmds:  map[string]func(*testscript.TestScript, bool, []string){"exits": exits, "edit": edit, "decide": decide, "watch": watch},
	})
}

// bringTemplates puts what other packages have as test data into the script's directory.
func bringTemplates(e *testscript.Env) error {
	for _, pattern := range []string{"../sim/awssim/cloudformation/testdata/getting-started-*.yaml", "../setup/stack/check/testdata/*-plan.json", "../audit/testdata/*.json.gz"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			return errors.Join(err, errors.New("no test data "+pattern))
		}
		for _, f := range files {
			data, err := os.ReadFile(f)
			if err != nil {
				return err
			}
			if err := os.WriteFile(filepath.Join(e.WorkDir, filepath.Base(f)), data, 0o644); err != nil {
				return err
			}
		}
	}
	return nil
}

// exits runs a command that must end with an exit code: exits 3 kerf stack check FILE.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("write: exits CODE COMMAND …")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		e, ok := errors.AsType[*exec.ExitError](err)
		if !ok {
			ts.Fatalf("%v", err)
		}
		got = e.ExitCode()
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

// edit makes a file out of another by replacing the first of a text: edit FROM TO OLD NEW; \n stands for a line break.
func edit(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 4 {
		ts.Fatalf("write: edit FROM TO OLD NEW")
	}
	lines := strings.NewReplacer(`\n`, "\n")
	text, before, after := ts.ReadFile(args[0]), lines.Replace(args[2]), lines.Replace(args[3])
	if !strings.Contains(text, before) {
		ts.Fatalf("%s has no %q", args[0], before)
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), []byte(strings.Replace(text, before, after, 1)), 0o644))
}

// decide solves what a scenario comes to, as a controller would, and records it in a file and at the address in $KERF_SERVER:
// decide SCENARIO FILE CLAIM…. The new nodes of the plan are made under the names of the claims.
func decide(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("write: decide SCENARIO FILE CLAIM…")
	}
	env := played(ts, args[0])
	d := &record.Decision{ID: "5f0c3e1ab2d47c90", Kerf: "v1", Problem: env.Problem, Plan: pack.Solve(env.Problem)}
	for i, name := range args[2:] {
		d.Claims = append(d.Claims, record.Claim{NewNode: i, Name: name})
	}
	var b bytes.Buffer
	ts.Check(record.Write(&b, d))
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), b.Bytes(), 0o644))
	ring := decisions.NewRing(4, 1<<20, slog.New(slog.DiscardHandler))
	ring.Add(d)
	server := httptest.NewServer(decisions.Handler(ring))
	ts.Defer(server.Close)
	ts.Setenv("KERF_SERVER", server.URL)
}

// watch serves what a scenario comes to as a controller's overview, at the address in $KERF_SERVER: watch SCENARIO NODE…. The named
// nodes are kept by their pods, which ask not to be disrupted.
func watch(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 {
		ts.Fatalf("write: watch SCENARIO NODE…")
	}
	env := played(ts, args[0])
	p := &disrupt.Problem{Cluster: env.Problem}
	prices := map[string]catalog.MicroUSD{}
	for _, pool := range env.Problem.Pools {
		for _, t := range pool.Types {
			prices[t.Name] = t.Offerings[0].Price
		}
	}
	for _, n := range env.Problem.Nodes {
		if n.Pool == "" {
			continue
		}
		n.Price = prices[n.InstanceType]
		own := disrupt.Node{Name: n.Name}
		if slices.Contains(args[1:], n.Name) {
			own.Blocks = []disrupt.Reason{{Code: disrupt.DoNotDisrupt, Pod: n.Pods[0].String()}}
		}
		p.Nodes = append(p.Nodes, own)
	}
	for _, pool := range env.Problem.Pools {
		p.Pools = append(p.Pools, disrupt.Pool{Name: pool.Name, Policy: disrupt.WhenEmptyOrUnderutilized})
	}
	decision := disrupt.Decide(p)
	o := overview.New(overview.Sources{
		Kerf: "v1", Cluster: "shop", Snapshot: func() *cluster.Snapshot {
			return &cluster.Snapshot{Nodes: env.Problem.Nodes, Pending: env.Problem.Pending}
		},
		Pools:    func(context.Context, *cluster.Snapshot) []*cluster.Pool { return env.Problem.Pools },
		Problem:  func(context.Context, *cluster.Snapshot) *pack.Problem { return env.Problem },
		Decision: func() *disrupt.Decision { return decision }, Now: func() time.Time { return env.Problem.Now.Add(time.Minute) },
	})
	o.Planned(pack.Solve(env.Problem))
	server := httptest.NewServer(overview.Handler(o))
	ts.Defer(server.Close)
	ts.Setenv("KERF_SERVER", server.URL)
}

// played is a scenario after its steps.
func played(ts *testscript.TestScript, name string) *scenario.Env {
	steps, err := scenario.Parse(ts.ReadFile(name))
	ts.Check(err)
	env := scenario.New()
	for _, s := range steps {
		if s.Head != "" {
			_, err := env.Run(s.Head, s.Input)
			ts.Check(err)
		}
	}
	return env
}
