package archive

import (
	"regexp"
	"strings"
)

// relative are the links of a page to files beside it. Those to other hosts and within the page are left alone.
var relative = regexp.MustCompile(`\]\(([A-Za-z0-9_.][^):]*)\)`)

// Readme is a page whose links lead to the repository, at a commit: beside the program there are none of the files.
func Readme(page []byte, commit string) []byte {
	return relative.ReplaceAllFunc(page, func(link []byte) []byte {
		path := strings.TrimSuffix(strings.TrimPrefix(string(link), "]("), ")")
		return []byte("](https://github.com/kerf-sh/kerf/blob/" + commit + "/" + path + ")")
	})
}
