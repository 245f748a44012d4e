// Package history rebuilds the workload that a cluster had from what there is of it: Kubernetes Events, dumps or a watch of
// its pods, series of kube-state-metrics, audit logs. Sources are told by their content and can be mixed: pods of one UID
// are one pod. What no source says is assumed, counted and named.
package history

import (
	"errors"
	"fmt"
	"strings"

	"github.com/kerf-sh/kerf/internal/simulate/workload"
)

// formats are what Read reads, for errors.
const formats = `the formats that are read:
  - Kubernetes Events: kubectl get events -A -o json
  - dumps of pods over time, one file each: kubectl get pods -A -o json, or kerf audit --snapshot
  - a watch of pods: kubectl get pods -A -o json --watch --output-watch-events
  - range queries of Prometheus on kube-state-metrics: /api/v1/query_range
  - EKS audit logs: exported to S3, from aws logs filter-log-events, or results of CloudWatch Logs Insights (JSON or CSV)
docs/backtest.md has the commands`

// Read rebuilds a workload from files and folders of files; "-" is standard input. Memory grows with the pods that are named,
// not with the size of the files.
//
// Errors: a file can't be read; nothing in them is of a format that is read; there are no pods of workloads in them.
func Read(paths []string) (*workload.Workload, *Account, error) {
	files, err := find(paths)
	if err != nil {
		return nil, nil, err
	}
	account := &Account{LeftOut: map[string]int{}, Kinds: map[string]int{}}
	n := newNotes()
	l := newLedger(n)
	read := 0
	for _, in := range files {
		f, err := l.read(in)
		if err != nil {
			return nil, nil, err
		}
		account.Files = append(account.Files, f)
		read += f.Records
		account.Malformed += f.Malformed
		if account.FirstMalformed == "" {
			account.FirstMalformed = f.problem
		}
	}
	if read == 0 {
		what := ""
		if account.FirstMalformed != "" {
			what = " (" + account.FirstMalformed + ")"
		}
		return nil, nil, fmt.Errorf("read the history: nothing in %s is of a format that Kerf reads%s; %s", strings.Join(paths, ", "), what, formats)
	}
	window := l.window()
	if !window.to.After(window.from) {
		return nil, nil, errors.New("read the history: it is a single moment; add a later dump, or another source: docs/backtest.md says which there are")
	}
	l.sourceNotes()
	l.gapNotes(window)
	w, err := l.rebuild(account)
	if err != nil {
		return nil, nil, err
	}
	l.tell(account)
	w.Region = l.region()
	w.Source = fmt.Sprintf("history of %d files, %s to %s UTC", len(files), account.From.Format(stamp), account.To.Format(stamp))
	for _, u := range account.Unknown {
		w.Notes = append(w.Notes, workload.Note{What: u.What, Count: u.Count, Example: u.Example})
	}
	return w, account, nil
}

// sourceNotes say what the kinds of sources together can't say.
func (l *ledger) sourceNotes() {
	_, watched := l.spans[fromWatch]
	if !watched && len(l.seen[dumps]) == 0 && len(l.seen[metrics]) == 0 {
		l.notes.add(noteOnlyChanges, "")
	}
	if !watched && len(l.spans) == 1 && len(l.seen[dumps]) == 1 {
		l.notes.add(noteOneDump, "")
	}
}

// tell writes what is known of the sources into the account.
func (l *ledger) tell(a *Account) {
	for _, kind := range sortedKeys(l.spans) {
		s := Source{Kind: kind, From: l.spans[kind].from, To: l.spans[kind].to}
		switch kind {
		case fromDumps:
			s.Observations = l.dumped
		case fromPrometheus:
			s.Observations = len(l.seen[metrics])
		}
		a.Sources = append(a.Sources, s)
	}
	a.Unknown = l.notes.all()
}
