package top

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"

	"github.com/kerf-sh/kerf/internal/controller/overview"
	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/floor"
)

var update = flag.Bool("update", false, "write the golden files anew")

func golden(t *testing.T, name, got string) {
	t.Helper()
	file := "testdata/" + name
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s, written anew with -update (-want +got):\n%s", file, diff)
	}
}

// shop is the cluster of testdata.
func shop(t testing.TB) *overview.Document {
	t.Helper()
	text, err := os.ReadFile("testdata/shop.json")
	if err != nil {
		t.Fatal(err)
	}
	d := &overview.Document{}
	if err := json.Unmarshal(text, d); err != nil {
		t.Fatal(err)
	}
	return d
}

// model shows a cluster on a screen, ten seconds after its overview was made.
func model(d *overview.Document, width, height int) *Model {
	m := New(Options{First: d, Unicode: true, Floors: &overview.Floors{}}, d.At.Add(10*time.Second))
	m.Update(tea.WindowSizeMsg{Width: width, Height: height})
	return m
}

// special are keys that are no letters.
var special = map[string]rune{"enter": tea.KeyEnter, "esc": tea.KeyEscape, "down": tea.KeyDown, "up": tea.KeyUp, "tab": tea.KeyTab, "pgdown": tea.KeyPgDown, "home": tea.KeyHome, "end": tea.KeyEnd, "backspace": tea.KeyBackspace}

// press presses keys one after the other, and returns the last command.
func press(m *Model, keys ...string) (cmd tea.Cmd) {
	for _, key := range keys {
		k := tea.Key{Text: key}
		if code, ok := special[key]; ok {
			k = tea.Key{Code: code}
		} else {
			k.Code = []rune(key)[0]
		}
		_, cmd = m.Update(tea.KeyPressMsg(k))
	}
	return cmd
}

// letters are the keys of a word.
func letters(word string) []string { return strings.Split(word, "") }

// text is the screen without colours.
func text(m *Model) string {
	lines := strings.Split(ansi.Strip(m.screen()), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return strings.Join(lines, "\n") + "\n"
}

// explained is the answer to the question that was asked last.
func explained(m *Model, a *overview.Explanation, err error) {
	m.Update(explainedMsg{question: m.questions, answer: a, err: err})
}

var nodeAnswer = &overview.Explanation{
	Text: "Node ip-10-0-1-7.ec2.internal (decision 40 of 2026-03-01T11:50:00Z)\nkept: pod shop/db-0 asks not to be disrupted\nwithout that, moving its pods would save $0.2041/h\nm7g.2xlarge us-east-1a on-demand; 18 pods and 4 daemons on it\n",
	Pods: []overview.PodLine{{Pod: "shop/db-0", CPU: 400, Memory: 1 << 30}, {Pod: "shop/web-7d9f-aaaaa", CPU: 500, Memory: 1 << 29}, {Pod: "kube-system/kube-proxy-zzzzz", CPU: 100, Memory: 1 << 27, Daemon: true}},
}

// A floor that was not found anew for a minute is said to be old: what runs may be something else by now.
func TestAnOldFloorSaysItsAge(t *testing.T) {
	for _, tt := range []struct {
		age      time.Duration
		bound    int64
		unpriced int
		want     string
	}{
		{0, 1_400_000, 0, "floor $1.400/h (+0.0%)"}, {floorOld, 1_400_000, 0, "floor $1.400/h (+0.0%)"}, {3 * time.Minute, 1_400_000, 0, "floor $1.400/h (+0.0%), 3m old"},
		{2 * time.Hour, 1_400_000, 1, "floor $1.400/h, 120m old"}, {5 * time.Minute, 0, 0, "floor $0/h, 5m old"},
	} {
		d := shop(t)
		d.Bill.Unpriced = tt.unpriced
		m := New(Options{First: d}, d.At)
		m.floor = overview.FloorNow{At: m.now.Add(-tt.age), Floor: &floor.Floor{Bound: catalog.MicroUSD(tt.bound), Running: catalog.MicroUSD(tt.bound)}}
		if got := m.floorText(); got != tt.want {
			t.Errorf("after %s: %q, want %q", tt.age, got, tt.want)
		}
	}
}

// TestScreens compares each list, what Enter opens, and the help with what they were, at two sizes and without Unicode.
func TestScreens(t *testing.T) {
	found := newsMsg{floor: overview.FloorNow{Floor: &floor.Floor{Bound: 1_400_000, Running: 1_607_400}}}
	for name, do := range map[string]func(m *Model){
		"nodes":    func(*Model) {},
		"grouped":  func(m *Model) { press(m, "s", "s", "g", "down") },
		"filtered": func(m *Model) { press(m, append([]string{"/"}, letters("spot web")...)...) },
		"waiting":  func(m *Model) { press(m, "2") },
		"moves":    func(m *Model) { press(m, "3", "down") },
		"blocked":  func(m *Model) { press(m, "4") },
		"decided":  func(m *Model) { press(m, "5") },
		"events":   func(m *Model) { press(m, "6", "down") },
		"problems": func(m *Model) { press(m, "7") },
		"problem":  func(m *Model) { press(m, "7", "down", "enter") },
		"node":     func(m *Model) { press(m, "down", "down", "enter"); explained(m, nodeAnswer, nil); press(m, "p") },
		"help":     func(m *Model) { press(m, "?") },
		"silent": func(m *Model) {
			m.Update(newsMsg{err: errors.New("nobody holds the Lease kube-system/karpenter-leader-election"), at: m.now.Add(42 * time.Second)})
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := shop(t)
			all := ""
			for _, size := range [][2]int{{80, 24}, {120, 40}} {
				m := model(d, size[0], size[1])
				news := found
				news.doc, news.at = d, m.now
				m.Update(news)
				do(m)
				all += fmt.Sprintf("==== %d x %d\n%s", size[0], size[1], text(m))
			}
			golden(t, name+".txt", all)
		})
	}
}

// TestAMoveThatIsPausedDoesNotBegin: consolidation that moves pods is held at times; that of empty nodes goes on.
func TestAMoveThatIsPausedDoesNotBegin(t *testing.T) {
	for name, tc := range map[string]struct {
		cause       string
		begun, held bool
		want, lacks []string
	}{
		"paused":                 {"Underutilized", false, true, []string{"Underutilized, paused", "It is found, and paused for 9m50s, as is all consolidation that moves pods: plans do not come true"}, []string{"It begins"}},
		"not paused":             {"Underutilized", false, false, []string{"Underutilized, found", "It begins in 50s if that stays so."}, []string{"paused"}},
		"under way already":      {"Underutilized", true, true, []string{"Underutilized, under way"}, []string{"It begins", "paused"}},
		"of a node without pods": {"Empty", false, true, []string{"Empty, found", "It begins in 50s if that stays so."}, []string{"paused"}},
	} {
		t.Run(name, func(t *testing.T) {
			d := shop(t)
			d.Moves = []overview.Move{{Cause: tc.cause, Begun: tc.begun, Nodes: []string{"n"}, Begins: d.At.Add(time.Minute)}}
			if tc.held {
				d.Held = &overview.Held{Until: d.At.Add(10 * time.Minute), Why: "plans do not come true"}
			}
			m := model(d, 120, 40)
			press(m, "3")
			if got := strings.Contains(text(m), "paused"); got != slices.Contains(tc.want, "Underutilized, paused") {
				t.Errorf("the list:\n%s", text(m))
			}
			press(m, "enter")
			for _, want := range tc.want {
				if !strings.Contains(text(m), want) {
					t.Errorf("lacks %q:\n%s", want, text(m))
				}
			}
			for _, lack := range tc.lacks {
				if strings.Contains(text(m), lack) {
					t.Errorf("says %q:\n%s", lack, text(m))
				}
			}
		})
	}
}

// TestNothingIsWiderOrLonger goes through all screens at many sizes, with and without Unicode.
func TestNothingIsWiderOrLonger(t *testing.T) {
	d := shop(t)
	d.Cluster = "a-cluster-with-a-name-that-is-as-long-as-names-of-clusters-may-be"
	for _, unicode := range []bool{true, false} {
		for _, size := range [][2]int{{1, 1}, {7, 3}, {20, 8}, {40, 10}, {79, 23}, {80, 24}, {100, 14}, {200, 50}, {400, 13}} {
			m := New(Options{First: d, Unicode: unicode}, d.At)
			m.Update(tea.WindowSizeMsg{Width: size[0], Height: size[1]})
			for _, keys := range [][]string{{}, {"2"}, {"3"}, {"4"}, {"5"}, {"6"}, {"7"}, {"enter"}, {"esc", "1", "end", "enter"}, {"end"}, {"esc", "g", "home", "enter"}, {"?"}} {
				press(m, keys...)
				lines := strings.Split(m.screen(), "\n")
				if len(lines) > size[1] {
					t.Errorf("%v after %v: %d lines", size, keys, len(lines))
				}
				for _, line := range lines {
					if ansi.StringWidth(line) > size[0] {
						t.Errorf("%v after %v: too wide: %q", size, keys, ansi.Strip(line))
					}
					if !unicode && strings.IndexFunc(line, func(r rune) bool { return r > 0x7e }) >= 0 {
						t.Errorf("%v after %v: no ASCII: %q", size, keys, line)
					}
				}
			}
		}
	}
}

// TestTheCursorFollowsItsNode: nodes that come and go above do not move it to another node, and a node that goes leaves it in place.
func TestTheCursorFollowsItsNode(t *testing.T) {
	d := shop(t)
	m := model(d, 80, 24)
	press(m, "down", "down", "down")
	on := func() string { return m.rows[m.places[nodesTab].at].node.Name }
	was := on()
	less := *d
	less.Nodes = d.Nodes[2:]
	m.Update(newsMsg{doc: &less, at: m.now})
	if on() != was {
		t.Errorf("two nodes above are gone, and the cursor is on %s, not %s", on(), was)
	}
	press(m, "s", "r") // another order
	if on() != was {
		t.Errorf("the order is another, and the cursor is on %s, not %s", on(), was)
	}
	none := *d
	none.Nodes = nil
	m.Update(newsMsg{doc: &none, at: m.now})
	press(m, "enter", "down", "g", "s")
	if got := text(m); !strings.Contains(got, "The cluster has no nodes yet") {
		t.Errorf("without nodes:\n%s", got)
	}
	m.Update(newsMsg{doc: d, at: m.now})
	press(m, "down")
}

func TestOrders(t *testing.T) {
	d := shop(t)
	for _, tc := range []struct {
		o     NodeOptions
		first string
		count int
	}{
		{NodeOptions{Sort: byName}, "default-x9k2p", 9},
		{NodeOptions{Sort: byName, Reverse: true}, "ip-10-0-9-9.ec2.internal", 9},
		{NodeOptions{Sort: byPrice}, "gpu-7m4tq", 9},
		{NodeOptions{Sort: byUse}, "ip-10-0-3-8.ec2.internal", 9},
		{NodeOptions{Sort: byAge}, "ip-10-0-9-9.ec2.internal", 9},
		{NodeOptions{Sort: bySaving}, "ip-10-0-1-7.ec2.internal", 9},
		{NodeOptions{Filter: "US-EAST-1a ready"}, "ip-10-0-1-7.ec2.internal", 3},
		{NodeOptions{Filter: "ml/train"}, "gpu-7m4tq", 1},
		{NodeOptions{Filter: "nothing"}, "", 0},
	} {
		rows := arranged(d, tc.o, nil)
		first := ""
		if len(rows) > 0 {
			first = rows[0].node.Name
		}
		if first != tc.first || len(rows) != tc.count {
			t.Errorf("%+v: %d nodes, the first is %q; want %d and %q", tc.o, len(rows), first, tc.count, tc.first)
		}
	}
	if rows := arranged(d, NodeOptions{Group: true}, map[string]bool{"default": true}); len(rows) != 3+1+1 || rows[0].pool.nodes != 7 || rows[4].node.Name != "ip-10-0-9-9.ec2.internal" {
		t.Errorf("grouped, with default closed: %d rows", len(rows))
	}
}

// TestKeysOfTheFilter types and takes back.
func TestKeysOfTheFilter(t *testing.T) {
	m := model(shop(t), 80, 24)
	press(m, append([]string{"/"}, letters("gpuq")...)...)
	if len(m.rows) != 0 || !m.typing {
		t.Errorf("after gpuq %d rows, typing %v", len(m.rows), m.typing)
	}
	press(m, "backspace", "enter")
	if len(m.rows) != 1 || m.typing || m.nodes.Filter != "gpu" {
		t.Errorf("after gpu %d rows, typing %v, filter %q", len(m.rows), m.typing, m.nodes.Filter)
	}
	if cmd := press(m, "esc"); cmd != nil || len(m.rows) != 9 {
		t.Errorf("Esc leaves %d rows", len(m.rows))
	}
	if cmd := press(m, "q"); cmd == nil {
		t.Error("q does not quit")
	}
}

// TestADetailGoesOnToItsPods opens a node, then one of its pods, and goes back twice; an error is shown in its place.
func TestADetailGoesOnToItsPods(t *testing.T) {
	m := model(shop(t), 80, 24)
	press(m, "enter")
	explained(m, nodeAnswer, nil)
	press(m, "p", "down", "enter")
	if d := m.shownDetail(); d.title != "Pod shop/web-7d9f-aaaaa" {
		t.Fatalf("opened %q", d.title)
	}
	explained(m, nil, errors.New("nobody leads"))
	if got := text(m); !strings.Contains(got, "could not be asked for more: nobody leads") {
		t.Errorf("an error is shown as\n%s", got)
	}
	press(m, "esc", "q")
	if m.shownDetail() != nil {
		t.Error("Esc and q do not go back")
	}
}

// TestNoNewsAreSaid: neither a failure nor silence leaves old figures looking new.
func TestNoNewsAreSaid(t *testing.T) {
	m := model(shop(t), 80, 24)
	m.Update(tickMsg(m.now.Add(3 * time.Second)))
	if got := text(m); strings.Contains(got, "nothing new") {
		t.Errorf("after three seconds:\n%s", got)
	}
	m.Update(tickMsg(m.now.Add(30 * time.Second)))
	if got := text(m); !strings.Contains(got, "nothing new for 33s") {
		t.Errorf("after 33 seconds:\n%s", got)
	}
	if _, cmd := m.Update(newsMsg{err: errors.New("refused"), at: m.now}); cmd == nil {
		t.Error("after a failure nothing is read again")
	}
	m.Update(newsMsg{doc: shop(t), at: m.now})
	if got := text(m); strings.Contains(got, "nothing new") {
		t.Errorf("after news:\n%s", got)
	}
}

// TestCommandsAskTheController runs the commands against what a controller would answer.
func TestCommandsAskTheController(t *testing.T) {
	file, err := os.ReadFile("testdata/shop.json")
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != overview.Path {
			http.Error(w, "not here", http.StatusTeapot)
			return
		}
		_, _ = w.Write(file)
	}))
	defer server.Close()
	link := overview.NewLink(func(context.Context) (overview.Connection, error) { return overview.Connection{URL: server.URL}, nil })
	m := New(Options{Link: link, Unicode: true}, time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))
	m.Update(tea.WindowSizeMsg{Width: 80, Height: 24})
	if got := text(m); !strings.Contains(got, "asking the controller") {
		t.Errorf("before the first answer:\n%s", got)
	}
	m.Update(m.read()())
	if len(m.rows) != 9 || m.failed != "" {
		t.Fatalf("%d rows, %s", len(m.rows), m.failed)
	}
	for _, keys := range [][]string{{"enter"}, {"esc", "2", "enter"}, {"esc", "5", "enter"}} {
		cmd := press(m, keys...)
		if cmd == nil {
			t.Fatalf("%v asks nothing", keys)
		}
		m.Update(cmd())
		if d := m.shownDetail(); d.asking || !strings.Contains(d.failed, "not here") {
			t.Errorf("%v: asking %v, failed %q", keys, d.asking, d.failed)
		}
	}
}

// TestBars: what is not nothing is seen, and so is room that is left.
func TestBars(t *testing.T) {
	b := newLook(false).bar
	for _, tc := range []struct {
		has, used, daemons int64
		want               string
	}{
		{100, 0, 0, "........"}, {100, 1, 0, "#......."}, {100, 1, 1, "=......."}, {100, 50, 25, "==##...."}, {100, 97, 0, "#######."}, {100, 99, 0, "########"},
		{100, 100, 10, "=#######"}, {100, 130, 0, "########"}, {0, 0, 0, "        "}, {100, 4, 3, "#......."},
	} {
		if got := b.draw(overview.Amount{Has: tc.has, Used: tc.used, Daemons: tc.daemons}, 8); got != tc.want {
			t.Errorf("%d of %d, %d of it daemons: %q, want %q", tc.used, tc.has, tc.daemons, got, tc.want)
		}
	}
}

// TestTheTable is what is written where there is no terminal.
func TestTheTable(t *testing.T) {
	var b strings.Builder
	if err := WriteTable(&b, shop(t), NodeOptions{Sort: byPrice}); err != nil {
		t.Fatal(err)
	}
	golden(t, "table.txt", b.String())
	d := shop(t)
	d.Currency = "CNY"
	for _, n := range d.Nodes {
		if n.Hold != nil {
			n.Hold.Text = strings.ReplaceAll(n.Hold.Text, "$", "¥") // as the controller words it there
		}
	}
	b.Reset()
	if err := WriteTable(&b, d, NodeOptions{Sort: byPrice}); err != nil {
		t.Fatal(err)
	}
	m := New(Options{First: d}, d.At)
	m.width, m.height = 140, 40
	m.look.unicode = false
	plain := m.screen()
	m.look.unicode = true
	for text, want := range map[string]string{b.String(): "  ¥/H  ", m.screen(): "¥0.0612 ", plain: "CNY 0.0612 "} {
		if !strings.Contains(text, want) || strings.Contains(text, "$") {
			t.Errorf("in China, without %q:\n%s", want, text)
		}
	}
}

// large is a cluster of n nodes.
func large(n int) *overview.Document {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	d := &overview.Document{Cluster: "large", Kerf: "v0.1.0", At: now}
	for i := range 500 {
		d.Classes = append(d.Classes, &overview.Class{Number: i, Namespace: "shop", Name: fmt.Sprint("app-", i)})
	}
	for i := range n {
		d.Nodes = append(d.Nodes, &overview.Node{
			Name: fmt.Sprintf("ip-10-%d-%d-%d.ec2.internal", i>>16, i>>8&255, i&255), Claim: fmt.Sprint("default-", i), Pool: fmt.Sprint("pool-", i%12), InstanceType: "m7g.2xlarge", Zone: "us-east-1a",
			CapacityType: "spot", State: overview.Ready, Created: now.Add(-time.Duration(i) * time.Minute), Price: catalog.MicroUSD(10000 + i*37%50000),
			CPU: overview.Amount{Has: 7910, Used: int64(i * 131 % 7900)}, Memory: overview.Amount{Has: 29 << 30, Used: int64(i) << 20}, Pods: overview.Amount{Has: 58, Used: 20},
			Carries: [][2]int{{i % 500, 3}, {(i + 1) % 500, 3}, {(i + 2) % 500, 3}}, Hold: &overview.Hold{Code: "NotCheaper", Text: "carrying its pods would cost more"},
		})
	}
	return d
}

// BenchmarkUpdate is news of 5,000 nodes and the screen after them, by orders and with a filter.
func BenchmarkUpdate(b *testing.B) {
	d := large(5000)
	for name, o := range map[string]NodeOptions{"name": {}, "use": {Sort: byUse}, "grouped": {Sort: byPrice, Group: true}, "filtered": {Filter: "spot app-12"}} {
		b.Run(name, func(b *testing.B) {
			m := New(Options{First: d, Nodes: o, Unicode: true}, d.At)
			m.Update(tea.WindowSizeMsg{Width: 200, Height: 50})
			for b.Loop() {
				m.Update(newsMsg{doc: d, at: m.now})
				if m.screen() == "" {
					b.Fatal("nothing is shown")
				}
			}
		})
	}
}

// TestTheFirstLineSaysWhatIsOnTheWay where nothing is wrong, and that a controller has just started.
func TestTheFirstLineSaysWhatIsOnTheWay(t *testing.T) {
	starts := overview.Problem{Code: overview.JustStarted, Level: overview.Warn, Title: "s"}
	for want, problems := range map[string][]overview.Problem{
		"shop  healthy, 7 pods on the way": nil, "shop  1 warning, 7 pods on the way": {{Level: overview.Warn, Title: "w"}}, "shop  1 problem ": {{Level: overview.Bad, Title: "b"}}, "shop  just started": {starts},
	} {
		d := shop(t)
		d.Problems = problems
		if got := ansi.Strip(model(d, 100, 30).firstLine()); !strings.HasPrefix(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
