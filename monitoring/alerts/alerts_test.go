package alerts_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"

	"github.com/kerf-sh/kerf/monitoring/alerts"
)

var (
	heading = regexp.MustCompile(`(?m)^## (\w+)$`)
	parts   = []string{"**What users notice.**", "**How to look.**", "**How to fix.**"}
)

// Each alert has its section in the runbook, in the same order, with what it must say; each section has its alert.
func TestRunbook(t *testing.T) {
	page, err := os.ReadFile("../../docs/alerts.md")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	sections := map[string]string{}
	at := heading.FindAllSubmatchIndex(page, -1)
	for i, loc := range at {
		end := len(page)
		if i+1 < len(at) {
			end = at[i+1][0]
		}
		name := string(page[loc[2]:loc[3]])
		names = append(names, name)
		sections[name] = string(page[loc[1]:end])
	}
	var want []string
	for _, a := range alerts.All() {
		want = append(want, a.Name)
		after := "at once"
		if a.For > 0 {
			after = "after " + model.Duration(a.For).String()
		}
		if begin := fmt.Sprintf("\n\n%s, %s: ", a.Severity, after); !strings.HasPrefix(sections[a.Name], begin) {
			t.Errorf("docs/alerts.md: the section %s does not begin with %q", a.Name, strings.TrimSpace(begin))
		}
		for _, part := range parts {
			if strings.Count(sections[a.Name], part) != 1 {
				t.Errorf("docs/alerts.md: the section %s has no part %s", a.Name, part)
			}
		}
		if !regexp.MustCompile(`(?m)^    (kubectl|kerf|aws) `).MatchString(sections[a.Name]) && !strings.Contains(sections[a.Name], "The panel *") {
			t.Errorf("docs/alerts.md: the section %s has no command", a.Name)
		}
	}
	if !slices.Equal(names, want) {
		t.Errorf("docs/alerts.md has the sections\n%v, and the alerts are\n%v", names, want)
	}
}

// The file is what Prometheus takes, and what lies in the chart.
func TestFile(t *testing.T) {
	text, err := alerts.File()
	if err != nil {
		t.Fatal(err)
	}
	groups, errs := rulefmt.Parse(text, false, model.UTF8Validation, parser.NewParser(parser.Options{}), slog.New(slog.DiscardHandler))
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	if n := len(groups.Groups[0].Rules); n != len(alerts.All()) {
		t.Errorf("%d rules of %d alerts", n, len(alerts.All()))
	}
	there, err := os.ReadFile("../../charts/kerf/files/monitoring/alerts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.HasSuffix(there, text) {
		t.Error("charts/kerf/files/monitoring/alerts.yaml is not what the code says: make generate")
	}
}

func TestEachAlertSaysWhatItIs(t *testing.T) {
	for _, a := range alerts.All() {
		if a.Severity != alerts.Critical && a.Severity != alerts.Warning {
			t.Errorf("%s has the severity %q", a.Name, a.Severity)
		}
		if !strings.HasPrefix(a.Name, "Kerf") || a.Because == "" || !strings.HasSuffix(a.Summary, ".") || !strings.HasSuffix(a.Impact, ".") {
			t.Errorf("%s: the name begins with Kerf, the time has a reason, summary and impact are sentences", a.Name)
		}
	}
}
