package cli

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"al.essio.dev/pkg/shellescape"
	"github.com/spf13/cobra"
)

// refusedUser finds who was refused in an error of the API server: it words them so, whatever they are wrapped in.
var refusedUser = regexp.MustCompile(`is forbidden: User "([^"]+)" cannot (get|list|watch) `)

// readers are the commands that read the cluster by the rights of the role kerf-reader.
var readers = []string{"plan", "explain", "replay", "doctor", "check"}

// rightToRead is the way out for somebody who may not read what a command reads, as a line; empty for other errors. What leads
// to a pod is no part of the role.
func rightToRead(c *cobra.Command, text string) string {
	refused := refusedUser.FindStringSubmatch(text)
	if refused == nil || !slices.ContainsFunc(strings.Fields(c.CommandPath()), func(name string) bool { return slices.Contains(readers, name) }) || strings.Contains(text, "pods/proxy") || strings.Contains(text, `"secrets"`) {
		return ""
	}
	return fmt.Sprintf("what it takes, from somebody who may grant it:\n  kerf manifests --reader-only | kubectl apply -f -\n  kubectl create clusterrolebinding kerf-reader --clusterrole kerf-reader --user %s\n", shellescape.Quote(refused[1]))
}
