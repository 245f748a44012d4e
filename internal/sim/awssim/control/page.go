package control

import (
	"bytes"
	"html/template"
	"net/http"
)

// page shows the state to a person. It has no scripts and loads nothing.
func (h *Handler) page(w http.ResponseWriter, _ *http.Request) {
	s := h.state()
	queues := []Queue{}
	for _, name := range s.Queues {
		if q, err := h.queue(name); err == nil {
			queues = append(queues, q)
		}
	}
	var b bytes.Buffer
	err := pageTemplate.Execute(&b, struct {
		State
		Counts   []count
		QueueSet []Queue
		Controls []string
	}{s, sortedCounts(s.Calls), queues, h.controls})
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'")
	_, _ = w.Write(b.Bytes()) // a reader that has gone away is no concern of ours
}

var pageTemplate = template.Must(template.New("page").Parse(`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Simulated AWS: {{.Cluster}}</title><style>
body{font:14px/1.4 system-ui,sans-serif;margin:1.5rem;max-width:80rem}
table{border-collapse:collapse;width:100%}th,td{text-align:left;padding:.2rem .6rem;border-bottom:1px solid #ddd;vertical-align:top}
h2{margin-top:2rem}code,pre{font:12px ui-monospace,monospace}pre{margin:0;white-space:pre-wrap}.refused{color:#a00}
</style></head><body>
<h1>Simulated AWS account {{.Account}}, {{.Region}}, cluster {{.Cluster}}</h1>
<p>{{.Clock.Now}} · seed {{.Seed}} · {{.Live}} live instances · {{.Cost .MicroUSD}} per hour · {{.LostEvents}} events lost</p>
<h2>Instances</h2>
<table><tr><th>id<th>type<th>zone<th>capacity<th>state<th>{{.Currency.Symbol}}/h<th>launched<th>boot</tr>
{{range .Instances}}<tr><td><a href="instances/{{.ID}}"><code>{{.ID}}</code></a><td>{{.Type}}<td>{{.Zone}}<td>{{.CapacityType}}<td>{{.State}}
<td>{{$.Cost .MicroUSD}}<td>{{.Launched.Format "15:04:05"}}
<td><details><summary class="{{.Boot.State}}">{{.Boot.State}} {{.Boot.Node}}</summary><pre>{{range .Boot.Log}}{{.At.Format "15:04:05.000"}} {{.Text}}
{{end}}</pre></details></tr>
{{else}}<tr><td colspan="8">none</tr>{{end}}</table>
<h2>Faults</h2>
<table><tr><th>id<th>kind<th>where<th>struck</tr>
{{range .Faults}}<tr><td>{{.ID}}<td>{{.Kind}}<td>{{.Service}} {{.Operation}} {{.CapacityType}} {{.InstanceType}} {{.Zone}} {{.SubnetID}} {{.Resource}}<td>{{.Hits}} of {{.Seen}}</tr>
{{else}}<tr><td colspan="4">none</tr>{{end}}</table>
<h2>Queues</h2>
{{range .QueueSet}}<h3>{{.Name}}</h3><table><tr><th>sent<th>received<th>body</tr>
{{range .Messages}}<tr><td>{{.Sent.Format "15:04:05"}}<td>{{.ReceiveCount}}<td><pre>{{.Body}}</pre></tr>
{{else}}<tr><td colspan="3">empty</tr>{{end}}</table>{{end}}
<h2>Calls</h2>
<table><tr><th>operation<th>count</tr>
{{range .Counts}}<tr><td><a href="calls?operation={{.Operation}}">{{.Operation}}</a><td>{{.N}}</tr>{{end}}</table>
<h2>Controls</h2>
<p>Requests that this address answers, without signatures; docs/simulated-aws.md tells what they take.</p>
<pre>{{range .Controls}}{{.}}
{{end}}</pre>
</body></html>
`))
