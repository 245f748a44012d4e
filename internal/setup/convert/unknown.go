package convert

import (
	"regexp"
	"slices"
	"strings"
)

var variable = regexp.MustCompile(`\$\{([A-Za-z0-9:]+)\}`)

// orGive says by which flags of the command a text of a CloudFormation template becomes known; empty when none does that,
// as with what a resource is called once it is made.
func (c *converter) orGive(text string) string {
	out := c.orParameters(text)
	if c.options.Region == "" && strings.Contains(text, "${AWS::Region}") {
		out += ", or with --region REGION"
	}
	return strings.Replace(out, ", or with", ", or convert with", 1)
}

// orParameters names the parameters of a text.
func (c *converter) orParameters(text string) string {
	out := ""
	for _, m := range variable.FindAllStringSubmatch(text, -1) {
		say := ", or with --parameter " + m[1] + "=VALUE"
		if slices.Contains(c.parameters, m[1]) && !strings.Contains(out, say) {
			out += say
		}
	}
	return out
}
