package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kerf-sh/kerf/internal/audit"
	"github.com/kerf-sh/kerf/internal/setup/snapshot"
)

// TestAudit audits a cluster as somebody with the rights that kerf audit --role prints, as somebody with none, and from a file
// with hashed names.
func TestAudit(t *testing.T) {
	t.Parallel()
	e := up(t)
	e.apply(poolYAML)
	e.apply(deployment("web", 3, "900m", "200Mi", ""))
	e.running(2*time.Minute, "default", 3)
	e.hold("web")

	auditor := e.account("auditor", string(snapshot.Role), "kerf-auditor")
	file := filepath.Join(t.TempDir(), "snapshot.json")
	report := e.auditReport(auditor, 0, "--snapshot", file, "--anonymize")
	if len(report.Unknown) == 0 || strings.Contains(strings.Join(report.Unknown, "\n"), "may not list") {
		t.Errorf("the role is not enough: %v", report.Unknown)
	}
	if report.Cluster.Nodes == 0 || report.Bill.PerHour <= 0 || len(report.Bill.Unpriced) > 0 || !report.Floor.Known || report.Floor.PerHour > report.Bill.PerHour || report.Floor.Pods != 3 {
		t.Errorf("%+v\n%+v\n%+v", report.Cluster, report.Bill, report.Floor)
	}
	again := e.auditReport(nil, 0, "--from", file)
	if again.Bill.PerHour != report.Bill.PerHour || again.Floor.PerHour != report.Floor.PerHour {
		t.Errorf("from the file the bill is %f and the floor %f; they were %f and %f", again.Bill.PerHour, again.Floor.PerHour, report.Bill.PerHour, report.Floor.PerHour)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range e.instances() {
		if strings.Contains(string(data), i.ID) {
			t.Errorf("the file with hashed names has instance %s", i.ID)
		}
	}
	for _, name := range []string{`"web`, "ip-10-", "arn:", "nginx", "kerf-controller"} {
		if strings.Contains(string(data), name) {
			t.Errorf("the file with hashed names has %s", name)
		}
	}

	// The account's prices are those of the simulated AWS, which sells spot for what its old quotes say; without them the audit counts at
	// least 70 % of the usual price.
	live := e.auditReport(nil, 0, "--with-aws")
	if live.Prices.Source != "your account, asked now" || live.Bill.PerHour < 0.3*report.Bill.PerHour || live.Bill.PerHour > 1.5*report.Bill.PerHour {
		t.Errorf("at the prices of the account: %+v, %f and not about %f", live.Prices, live.Bill.PerHour, report.Bill.PerHour)
	}

	// Somebody who may read nothing gets a report that says so.
	nobody := e.account("nobody", "", "")
	none := e.auditReport(nobody, 1)
	if none.Bill.PerHour != 0 || none.Floor.Known || !strings.Contains(strings.Join(none.Unknown, "\n"), "nodes: you may not list them") {
		t.Errorf("who may read nothing: %+v", none)
	}
	if _, errs, code := e.command(credentials{"KUBECONFIG=" + e.cluster.Kubeconfig + ".none"}, "audit"); code != 1 || !strings.Contains(errs, "there is no such file") {
		t.Errorf("no cluster: exit code %d, %s", code, errs)
	}
}

// auditReport runs kerf audit and reads its report.
func (e *env) auditReport(who credentials, code int, args ...string) *audit.Report {
	e.Helper()
	out, errs, got := e.command(who, append([]string{"audit", "-o", "json"}, args...)...)
	report := &audit.Report{}
	if err := json.Unmarshal([]byte(out), report); err != nil || got != code {
		e.Fatalf("kerf audit %v: exit code %d, %v\n%s\n%s", args, got, err, out, errs)
	}
	return report
}
