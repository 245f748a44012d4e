package cli

// findings are what a check found, in the one form that SARIF and JUnit are written from.
type findings struct {
	check string // the command, such as "kerf doctor"
	of    string // what was checked, such as a file or a cluster
	file  string // the file that was checked; empty for what is live
	rules []rule // all that can be found, or at least those of the findings
	found []finding
	notes []string
}

// rule is one kind of finding.
type rule struct {
	id, title string
	help      string // what is examined; may be empty
}

// level is how bad a finding is.
type level int

// The levels. A check that passed or was left out is a finding too, so that reports can count it.
const (
	levelPassed  level = iota
	levelSkipped       // it does not concern this set-up
	levelNote          // it could be better
	levelWarning
	levelError
	levelUnknown // it could not be judged, which leaves the exit code as it is
	levelUnread  // it could not be read, and the command failed for it
)

// finding is one outcome.
type finding struct {
	rule     string
	level    level
	object   string // what it is about, as its owner calls it; may be empty
	line     int    // in the file, from 1; 0: not known
	message  string
	evidence []string
	remedy   string
}

// text is the message with all that belongs to it.
func (f *finding) text() string {
	text := f.message
	for _, e := range f.evidence {
		text += "\n- " + e
	}
	if f.remedy != "" {
		text += "\nfix: " + f.remedy
	}
	return text
}
