package cli

import (
	"encoding/xml"
	"fmt"
	"strings"
)

// The elements of a JUnit report that CI systems read in common. There is no standard; these are those that Jenkins, GitLab
// and GitHub's reporters agree on.
type (
	junitSuites struct {
		XMLName  xml.Name     `xml:"testsuites"`
		Name     string       `xml:"name,attr"`
		Tests    int          `xml:"tests,attr"`
		Failures int          `xml:"failures,attr"`
		Errors   int          `xml:"errors,attr"`
		Skipped  int          `xml:"skipped,attr"`
		Suites   []junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name     string      `xml:"name,attr"`
		Tests    int         `xml:"tests,attr"`
		Failures int         `xml:"failures,attr"`
		Errors   int         `xml:"errors,attr"`
		Skipped  int         `xml:"skipped,attr"`
		Cases    []junitCase `xml:"testcase"`
		Out      string      `xml:"system-out,omitempty"`
	}
	junitCase struct {
		Class   string      `xml:"classname,attr"`
		Name    string      `xml:"name,attr"`
		File    string      `xml:"file,attr,omitempty"`
		Failure *junitFault `xml:"failure"`
		Error   *junitFault `xml:"error"`
		Skipped *junitFault `xml:"skipped"`
		Out     string      `xml:"system-out,omitempty"`
	}
	junitFault struct {
		Message string `xml:"message,attr"`
		Text    string `xml:",chardata"`
	}
)

// junit writes the findings as a JUnit report. A case fails or has an error where the command ends with an exit code for it;
// what is noted or warned of is in the output of a case that passed, and what could not be judged is skipped.
func (f *findings) junit() ([]byte, error) {
	s := junitSuite{Name: f.of, Out: strings.Join(f.notes, "\n")}
	titles, seen := map[string]string{}, map[string]bool{}
	for _, r := range f.rules {
		titles[r.id] = r.title
	}
	for i := range f.found {
		x := &f.found[i]
		seen[x.rule] = true
		name := titles[x.rule]
		if x.object != "" {
			name = x.object + ": " + x.message
		}
		s.add(junitCase{Class: f.check + "." + x.rule, Name: name, File: f.file}, x)
	}
	for _, r := range f.rules { // a rule that found nothing held
		if !seen[r.id] {
			s.add(junitCase{Class: f.check + "." + r.id, Name: r.title, File: f.file}, &finding{})
		}
	}
	all := junitSuites{Name: f.check, Tests: s.Tests, Failures: s.Failures, Errors: s.Errors, Skipped: s.Skipped, Suites: []junitSuite{s}}
	text, err := xml.MarshalIndent(all, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("writing the findings as JUnit: %w", err)
	}
	return append([]byte(xml.Header), append(text, '\n')...), nil
}

// add counts a case and gives it what came out.
func (s *junitSuite) add(c junitCase, x *finding) {
	fault := &junitFault{Message: x.message, Text: x.text()}
	s.Tests++
	switch x.level {
	case levelError:
		c.Failure = fault
		s.Failures++
	case levelUnread:
		c.Error = fault
		s.Errors++
	case levelSkipped, levelUnknown:
		c.Skipped = &junitFault{Message: x.message}
		s.Skipped++
	case levelNote, levelWarning, levelPassed:
		c.Out = x.text()
	}
	s.Cases = append(s.Cases, c)
}
