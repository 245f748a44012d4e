package cli

import (
	"bytes"
	"fmt"
	"net/url"
	"path/filepath"

	"github.com/owenrumney/go-sarif/v3/pkg/report/v210/sarif"

	"github.com/kerf-sh/kerf/internal/version"
)

// sarif writes the findings as SARIF 2.1.0. What passed has the kind "pass", and what could not be judged "open", as section
// 3.27.9 of that specification has it; consumers show those of the kind "fail".
func (f *findings) sarif() ([]byte, error) {
	run := sarif.NewRunWithInformationURI("kerf", "https://github.com/kerf-sh/kerf")
	run.Tool.Driver.WithVersion(version.Version)
	for _, r := range f.rules {
		d := run.AddRule(r.id).WithName(r.id).WithShortDescription(sarif.NewMultiformatMessageString().WithText(r.title))
		if r.help != "" {
			d.WithFullDescription(sarif.NewMultiformatMessageString().WithText(r.help))
		}
	}
	for i := range f.found {
		run.AddResult(f.result(&f.found[i]))
	}
	report := sarif.NewReport()
	report.AddRun(run)
	var b bytes.Buffer
	if err := report.PrettyWrite(&b); err != nil {
		return nil, fmt.Errorf("writing the findings as SARIF: %w", err)
	}
	b.WriteByte('\n')
	return b.Bytes(), nil
}

func (f *findings) result(x *finding) *sarif.Result {
	r := sarif.NewRuleResult(x.rule).WithMessage(sarif.NewTextMessage(x.text()))
	kinds := map[level][2]string{ // kind and level; only the kind "fail" has a level other than "none"
		levelPassed: {"pass", "none"}, levelSkipped: {"notApplicable", "none"}, levelUnknown: {"open", "none"}, levelUnread: {"open", "none"},
		levelNote: {"fail", "note"}, levelWarning: {"fail", "warning"}, levelError: {"fail", "error"},
	}
	r.WithKind(kinds[x.level][0]).WithLevel(kinds[x.level][1])
	at := sarif.NewLocation()
	if f.file != "" {
		place := sarif.NewPhysicalLocation().WithArtifactLocation(sarif.NewArtifactLocation().WithURI(uriOf(f.file)))
		if x.line > 0 {
			place.WithRegion(sarif.NewRegion().WithStartLine(x.line))
		}
		at.WithPhysicalLocation(place)
	}
	name := x.object
	if name == "" {
		name = f.of
	}
	at.WithLogicalLocations([]*sarif.LogicalLocation{sarif.NewLogicalLocation().WithName(name).WithFullyQualifiedName(f.of + "/" + name).WithKind("resource")})
	return r.WithLocations([]*sarif.Location{at})
}

// uriOf is a path as SARIF has it: relative to where the check runs, which for CI is the root of the repository, or else a file URI.
func uriOf(path string) string {
	u := url.URL{Path: filepath.ToSlash(path)}
	if filepath.IsAbs(path) {
		u.Scheme = "file"
	}
	return u.String()
}
