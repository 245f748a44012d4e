package boot

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestShellWordsAreTheShells(t *testing.T) {
	for _, tt := range []struct{ what, script, want string }{
		{"quotes", `a 'b c' "d e" f' 'g`, "a|b c|d e|f g"},
		{"escapes", `a\ b "c\"d\$e\x" 'f\g'`, `a b|c"d$e\x|f\g`},
		{"continued lines", "a \\\nb\\\nc", "a|bc"},
		{"comments", "# no\na # no\nb#c", "a\nb#c"},
		{"separators", "a; b && c || d | e & f", "a\nb\nc\nd\ne\nf"},
		{"variables", "X='1 2'\nexport Y=3\nA=1 b $X \"$X\" ${Y}4 $none", "b|1|2|1 2|34"},
		{"an assignment before a command is for that command only", "X=1 echo $X a\necho $X b", "echo|a\necho|b"},
		{"substitutions stay", `a $(b) "$(c)"`, "a|$(b)|$(c)"},
		{"here-documents are not commands", "cat <<E >x\nno\nE\ncat <<-'F'\n\tno\n\tF\na <<< b", "cat|>x\ncat\na|<<<|b"},
		{"an unfinished quote", `a "b`, "a|b"},
		{"an empty word", `a '' b`, "a||b"},
		{"Windows line ends", "a b\r\nc\r\n", "a|b\nc"},
		{"nothing", "\n\n  \n", ""},
	} {
		var lines []string
		for _, words := range shellCommands(tt.script) {
			lines = append(lines, strings.Join(words, "|"))
		}
		if diff := cmp.Diff(tt.want, strings.Join(lines, "\n")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.what, diff)
		}
	}
}

func TestReservedCPUFollowsTheImagesFormula(t *testing.T) {
	for vcpus, want := range map[int]int{1: 60, 2: 70, 4: 80, 8: 90, 96: 310, 192: 550} {
		if got := reservedMillis(vcpus); got != want {
			t.Errorf("%d vCPUs: %dm, want %dm", vcpus, got, want)
		}
	}
}
