//go:build browser

package browser

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
)

// TestWords is about what the page says of what it knows, without a cluster.
func TestWords(t *testing.T) {
	page := http.NewServeMux()
	page.Handle("/", http.FileServer(http.Dir("../../internal/web/page")))
	page.HandleFunc("/blank", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, `<!doctype html><title>words</title><body data-ready="yes">`)
	})
	server := httptest.NewServer(page)
	defer server.Close()
	b := open(t)
	must(t, b.Go(server.URL+"/blank"))
	const bad, warn = `{level: 'bad', title: 'b', text: 'too large', follows: [{title: 'f', text: 'no zone'}]}`, `{level: 'warn', title: 'w', text: '', follows: []}`
	const minuteAgo = `new Date(Date.now() - 60e3).toISOString()`
	const start = `{level: 'warn', code: 'KerfStarts', title: 's', text: '', follows: []}`
	const soonAt = `new Date(Date.now() + 199500).toISOString()`
	const late = `{count: 2, usual: 13, since: ` + minuteAgo + `}`
	const refused = `{title: 'r', kind: 'NodeClaim', object: 'c1', others: ['c2'], follows: [{title: 'f', kind: 'Node', object: 'n9'}]}`
	for expression, want := range map[string]string{
		`w.wrongWith({name: 'n1', claim: 'c2'}, [` + refused + `])?.title ?? ''`: `"r"`,
		`w.wrongWith({name: 'n1', claim: 'c3'}, [` + refused + `])?.title ?? ''`: `""`,
		`w.wrongWith({name: 'n9', claim: ''}, [` + refused + `])?.title ?? ''`:   `"f"`,
		`w.verdict([], 0)`:                                             `"all well"`,
		`w.verdict([], 1)`:                                             `"all well, 1 pod on the way"`,
		`w.verdict([` + warn + `], 18)`:                                `"1 warning, 18 pods on the way"`,
		`w.verdict([` + bad + `, ` + warn + `], 18)`:                   `"1 problem"`,
		`w.stale(0, '')`:                                               `""`,
		`w.stale(0, 'refused')`:                                        `"not connected"`,
		`w.stale(1e12, '', 1e12 + 5e3)`:                                `""`,
		`w.stale(1e12, 'x', 1e12 + 5e3)`:                               `"no data for 5 s"`,
		`w.stale(1e12, '', 1e12 + 60e3)`:                               `"no data for 60 s"`,
		`w.floorWords(3e6, {bound: 2e6}, {bound: 1e6})`:                `{"floor":"$2.000/h","gap":"50 %","title":"","soon":false}`,
		`w.floorWords(1e6, {bound: 2e6}, null)`:                        `{"floor":"$2.000/h","gap":"0.0 %","title":"","soon":false}`,
		`w.floorWords(3e6, null, {bound: 2e6, at: ` + minuteAgo + `})`: `{"floor":"…","gap":"…","title":"$2.000/h for the pods of 60 s ago; for those of now it is being found","soon":true}`,
		`w.floorWords(3e6, null, {bound: 2e6, error: 'too slow', at: ` + minuteAgo + `})`: `{"floor":"…","gap":"…","title":"$2.000/h for the pods of 60 s ago; for those of now it could not be found: too slow","soon":true}`,
		`w.floorWords(null, {bound: 2e6}, null)`:                                          `{"floor":"$2.000/h","gap":"…","title":"","soon":false}`,
		`w.verdict([` + start + `], 21)`:                                                  `"just started, 21 pods wait"`,
		`w.verdict([` + start + `], 0)`:                                                   `"just started"`,
		`w.verdict([` + start + `, ` + bad + `], 0)`:                                      `"1 problem"`,
		`w.verdict([], 19, ` + late + `)`:                                                 `"all well, 19 pods on the way for 60 s (usually 13 s)"`,
		`w.verdict([], 0, ` + late + `)`:                                                  `"all well"`,
		`w.place({nodes: 2}, null)`:                                                       `" and 1 more"`,
		`w.place({nodes: 1}, ` + late + `)`:                                               `"; 2 instances have not joined for 60 s: 13 s are usual here"`,
		`w.begins({cause: 'Underutilized', begins: ` + soonAt + `}, null)`:                `"found, begins in 3:20 min if that stays so"`,
		`w.begins({cause: 'Underutilized', begins: ` + minuteAgo + `}, null)`:             `"found, begins as soon as it has its turn"`,
		`w.begins({cause: 'Underutilized'}, {until: ''})`:                                 `"found, and paused"`,
		`w.begins({cause: 'Empty'}, {until: ''})`:                                         `"found, begins as soon as it has its turn"`,
		`w.answering([{name: 'ec2'}, {name: 'sqs'}], {ready: true})`:                      `"2 services called, and all answer: ec2, sqs."`,
		`w.answering([{name: 'ec2'}, {name: 'sqs'}], {ready: false})`:                     `"1 other service called, and all answer: ec2."`,
		`w.answering([], null)`:                                                           `"No service was called yet."`,
		`w.floorWords(3e6, null, null)`:                                                   `{"floor":"…","gap":"…","title":"It is being found","soon":true}`,
		`w.floorWords(3e6, null, {error: 'too slow'})`:                                    `{"floor":"…","gap":"…","title":"It could not be found: too slow","soon":true}`,
		`w.steps({pods: 3, room: 'sought'})`:                                              `[["room elsewhere is looked for","now"],["a node that replaces it starts","next"],["3 pods to move","next"]]`,
		`w.steps({pods: 3, room: 'coming'})`:                                              `[["room elsewhere is found","done"],["the node that replaces it starts","now"],["3 pods to move","next"]]`,
		`w.steps({pods: 1, room: 'ready'})`:                                               `[["room elsewhere is found","done"],["the room is ready","done"],["its pods move: 1 left","now"]]`,
		`w.steps({pods: 0, room: 'ready'})`:                                               `[["room elsewhere is found","done"],["the room is ready","done"],["all its pods have moved","done"]]`,
		`w.steps({pods: 0, waiting: 2, room: 'coming'})`:                                  `[["room elsewhere is found","done"],["the node that replaces it starts","now"],["its pods were evicted; 2 pods created since wait","next"]]`,
		`w.steps({pods: 1, from: '2026-03-01T12:00:00Z'}).map(([words, state]) => [words.slice(0, 17), state])`: `[["1 pod moves from ","next"]]`,
		`w.capped([1, 2, 3], 2)`:                 `{"shown":[1,2],"rest":[3],"more":"Show 1 more"}`,
		`w.capped([1, 2], 2)`:                    `{"shown":[1,2],"rest":[],"more":""}`,
		`w.saidBy('too large', [` + bad + `])`:   `{"level":"bad","title":"b","text":"too large","follows":[{"title":"f","text":"no zone"}]}`,
		`w.saidBy('no zone', [` + bad + `])`:     `{"title":"f","text":"no zone"}`,
		`w.saidBy('', [` + warn + `]) ?? 'none'`: `"none"`,
		`w.decided({newNodes: 2, price: 340000, outcome: {refused: 2, why: 'VcpuLimitExceeded'}})`:       `"launch 2 nodes for $0.340/h (2 refused: VcpuLimitExceeded)"`,
		`w.decided({newNodes: 3, price: 340000, placed: 1, outcome: {launched: 1, asked: 1, ended: 1}})`: `"launch 3 nodes for $0.340/h (1 launched, 1 asked for now, 1 ended since), place 1 pod on nodes that exist"`,
		`w.decided({unplaced: 1, moves: 2})`:                                             `"1 pod without a place, begin to remove or replace: 2 moves"`,
		`w.decided({moves: 2, done: 1, givenUp: 1, why: 'its replacement a-1 is gone'})`: `"begin to remove or replace: 2 moves (1 done, 1 given up: its replacement a-1 is gone)"`,
		`w.decided({})`: `"nothing to do"`,
	} {
		if got := eval[string](t, b, `import('/words.js').then((w) => JSON.stringify(`+expression+`))`); got != want {
			t.Errorf("%s is %s, want %s", expression, got, want)
		}
	}
}
