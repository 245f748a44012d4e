package record_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/kerf-sh/kerf/internal/controller/decisions"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/disrupt"
	"github.com/kerf-sh/kerf/internal/engine/pack"
	"github.com/kerf-sh/kerf/internal/engine/plan"
	"github.com/kerf-sh/kerf/internal/engine/record"
	"github.com/kerf-sh/kerf/internal/sim/scenario"
)

// stories runs every scenario and shows the problem as it is at each solve; it may change later.
func stories(t testing.TB, show func(name string, p *pack.Problem)) {
	t.Helper()
	files, err := filepath.Glob("../../../testdata/scenarios/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("found no scenarios: %v", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		steps, err := scenario.Parse(string(text))
		if err != nil {
			t.Fatal(err)
		}
		env := scenario.New()
		for i, s := range steps {
			if strings.HasPrefix(s.Head, "solve") {
				show(fmt.Sprintf("%s:%d", filepath.Base(file), i), env.Problem)
			}
			if s.Head != "" {
				_, _ = env.Run(s.Head, s.Input) // some stories are about mistakes
			}
		}
	}
}

func asJSON(t testing.TB, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func written(t testing.TB, d *record.Decision) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := record.Write(&b, d); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestWhatIsReadAgainGivesTheSamePlan(t *testing.T) {
	stories(t, func(name string, p *pack.Problem) {
		t.Run(name, func(t *testing.T) {
			out := pack.Solve(p)
			file := written(t, &record.Decision{Kerf: "v1.2.3", Problem: p, Plan: out})
			d, err := record.Read(bytes.NewReader(file))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(out, d.Plan, cmpopts.EquateEmpty(), cmpopts.IgnoreFields(plan.Reason{}, "Refused")); diff != "" { // it is not written
				t.Errorf("the plan changed on the way:\n%s", diff)
			}
			if diff := cmp.Diff(p, d.Problem, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("the problem changed on the way:\n%s", diff)
			}
			if again := asJSON(t, pack.Solve(d.Problem)); again != asJSON(t, out) {
				t.Errorf("replayed to another plan:\n%s", cmp.Diff(asJSON(t, out), again))
			}
			if again := written(t, d); !bytes.Equal(again, file) {
				t.Errorf("written again, the file differs: %d bytes, then %d", len(file), len(again))
			}
			if d.Kerf != "v1.2.3" {
				t.Errorf("written by %q", d.Kerf)
			}
		})
	})
}

// fill sets everything below v to something that is not zero, but for what is not written anywhere.
func fill(v reflect.Value, rng *rand.Rand, depth int) {
	if v.Type() == reflect.TypeFor[time.Time]() {
		v.Set(reflect.ValueOf(time.Unix(rng.Int64N(1<<31), rng.Int64N(1e9)).UTC()))
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), rng, depth+1)
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() && f.Tag.Get("json") != "-" {
				fill(v.Field(i), rng, depth+1)
			}
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		for i := range 2 {
			fill(v.Index(i), rng, depth+1)
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(key, rng, depth+1)
		fill(value, rng, depth+1)
		v.SetMapIndex(key, value)
	case reflect.String:
		v.SetString(fmt.Sprintf("text-%d", rng.IntN(1000)))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(1 + rng.Int64N(100))
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(1 + rng.Uint64N(100))
	case reflect.Float32, reflect.Float64:
		v.SetFloat(rng.Float64())
	default:
		panic("can't fill a " + v.Kind().String())
	}
}

// TestNoFieldIsForgotten fails when a field of a problem or plan does not survive, such as one that was added later.
func TestNoFieldIsForgotten(t *testing.T) {
	const seed = 1
	rng := rand.New(rand.NewPCG(seed, 1))
	d := &record.Decision{Kerf: "v1", Claims: []record.Claim{{NewNode: 1, Name: "default-x"}}, Dropped: []string{"pods: n: too many"}, Disruption: &disrupt.Decision{},
		Left: []plan.Unplaced{{ClassID: "c", Pods: []cluster.PodRef{{Namespace: "a", Name: "stranger", UID: "u"}}, Reasons: []plan.Reason{{Code: plan.AskedAgain, Pool: "p"}}}}}
	d.Problem, d.Plan = &pack.Problem{}, &plan.Plan{}
	fill(reflect.ValueOf(d.Problem).Elem(), rng, 0)
	fill(reflect.ValueOf(d.Plan).Elem(), rng, 0)
	fill(reflect.ValueOf(d.Disruption).Elem(), rng, 0)
	got, err := record.Read(bytes.NewReader(written(t, d)))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(d, got); diff != "" {
		t.Errorf("seed %d: lost or changed:\n%s", seed, diff)
	}
}

func TestFilesThatAreRefused(t *testing.T) {
	p := scenario.Generate(50, 20, 1)
	file := string(written(t, &record.Decision{Kerf: "v1.2.3", Problem: p, Plan: pack.Solve(p)}))
	_, body, _ := strings.Cut(file, "\n")
	for name, tc := range map[string]struct{ content, want string }{
		"nothing":           {"", "no recorded decision"},
		"something else":    {"apiVersion: v1\nkind: Pod\n", "no recorded decision"},
		"no end of line":    {"kerf-decision 1 v1", "no recorded decision"},
		"another format":    {"kerf-decision 2 v9.9\n" + body, `format "2" and was written by kerf "v9.9"; this kerf reads format 1: replay it with the version`},
		"format no number":  {"kerf-decision x v9.9\n" + body, `format "x"`},
		"only the head":     {"kerf-decision 1 v1\n", "damaged"},
		"cut off":           {file[:len(file)-20], "damaged"},
		"cut in half":       {file[:len(file)/2], "damaged"},
		"a byte changed":    {file[:len(file)-100] + "\x00" + file[len(file)-99:], "damaged"},
		"more at the end":   {file + body, "damaged: something follows"},
		"a class too many":  {pack2(t, `{"types":[],"lists":[]}`, `{"classes":[],"problem":{"pending":[{"namespace":"a","name":"b","uid":"c","class":1}],"pools":[]}}`), "class 1, of which there are 0"},
		"a list too many":   {pack2(t, `{"types":[],"lists":[]}`, `{"classes":[],"problem":{"pending":[],"pools":[{"name":"p","types":3}]}}`), `pool "p" refers to list 3`},
		"a type too many":   {pack2(t, `{"types":[],"lists":[[0]]}`, `{"classes":[],"problem":{"pending":[],"pools":[]}}`), "refers to type 0 of 0"},
		"a pod too many":    {pack2(t, `{"types":[],"lists":[]}`, `{"classes":[],"problem":{"pending":[],"pools":[]},"plan":{"unplaced":[{"pods":[7]}]}}`), "refers to pod 7"},
		"a pod, no class":   {pack2(t, `{"types":[],"lists":[]}`, `{"classes":[],"problem":{"nodes":[{"pods":[{"namespace":"a","name":"b"}]}]}}`), "pod a/b has no class"},
		"a choice too many": {pack2(t, `{"types":[],"lists":[]}`, `{"choices":[{"name":"a"}],"choiceLists":[[1,1]],"problem":{},"plan":{}}`), "refers to choice 1 of 1"},
		"a type of null":    {pack2(t, `{"types":[null],"lists":[]}`, `{"classes":[null],"problem":{}}`), "missing"},
		"daemon, no class":  {pack2(t, `{"types":[],"lists":[]}`, `{"classes":[],"problem":{"daemons":[{"name":"a/b"}]}}`), `"a/b" has no pod class`},
		"not JSON":          {pack2(t, `hello`, ``), "damaged"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "bad.kerf")
			if err := os.WriteFile(path, []byte(tc.content), 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := decisions.ReadFile(path)
			if err == nil || !strings.Contains(err.Error(), tc.want) || !strings.HasPrefix(err.Error(), path+": ") {
				t.Errorf("got  %v\nwant %s: …%s…", err, path, tc.want)
			}
		})
	}
	if _, err := decisions.ReadFile("does-not-exist.kerf"); err == nil || !strings.Contains(err.Error(), "does-not-exist.kerf") {
		t.Errorf("a file that is not there: %v", err)
	}
}

// TestManyPodsStaySmall bounds what a decision on 10,000 pods over all types of a region takes.
func TestManyPodsStaySmall(t *testing.T) {
	d := large(t, 10_000)
	file := written(t, d)
	t.Logf("%d pods, %d types: %d bytes", len(d.Problem.Pending), len(d.Problem.Pools[0].Types), len(file))
	if most := 600_000; len(file) > most {
		t.Errorf("takes %d bytes, at most %d are wanted", len(file), most)
	}
}

// large is a decision on n pods of 60 classes with names as Deployments make them, over all types of us-east-1.
func large(t testing.TB, n int) *record.Decision {
	t.Helper()
	types, err := scenario.EC2Types("us-east-1", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	p := scenario.Generate(n, 1, 1)
	rng := rand.New(rand.NewPCG(1, 3))
	letters := "bcdfghjklmnpqrstvwxz2456789"
	random := func(n int) string {
		b := make([]byte, n)
		for i := range b {
			b[i] = letters[rng.IntN(len(letters))]
		}
		return string(b)
	}
	for i, pod := range p.Pending {
		pod.Name = fmt.Sprintf("deployment-%d-7d9f8b6c5d-%s", i%60, random(5))
		pod.UID = fmt.Sprintf("%08x-%04x-4%03x-8%03x-%012x", rng.Uint32(), rng.Uint32()>>16, rng.Uint32()>>20, rng.Uint32()>>20, rng.Uint64()>>16)
		pod.CreatedAt = pod.CreatedAt.Truncate(time.Second) // as the Kubernetes API writes it
	}
	for _, pool := range p.Pools {
		pool.Types = types
	}
	second := *p.Pools[0]
	second.Name = "second"
	p.Pools = append(p.Pools, &second)
	p.Options.Work = -1 // a first plan is as large as an improved one
	return &record.Decision{Kerf: "v1", Problem: p, Plan: pack.Solve(p)}
}
