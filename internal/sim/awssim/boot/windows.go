package boot

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
)

// windowsBootstrap is the script with which the EKS images of Windows join a cluster.
const windowsBootstrap = `\Amazon\EKS\Start-EKSBootstrap.ps1`

// windowsParameters are those that the script takes. Source: Amazon EKS User Guide, optimized Windows AMIs.
var windowsParameters = []string{
	"EKSClusterName", "KubeletExtraArgs", "KubeProxyExtraArgs", "APIServerEndpoint", "Base64ClusterCA", "DNSClusterIP",
	"ServiceCIDR", "ExcludedSnatCIDRs", "ContainerRuntime",
}

// readWindows reads user data as the launch agent of Windows does: it runs the first PowerShell block, which has to call
// the bootstrap script.
func readWindows(userData []byte) (*Kubelet, error) {
	script, err := powershellBlock(string(userData))
	if err != nil {
		return nil, err
	}
	statements, err := powershellStatements(script)
	if err != nil {
		return nil, fmt.Errorf("PowerShell refuses the script in the user data: %w", err)
	}
	k := newKubelet()
	calls := 0
	var call []psWord
	for _, s := range statements {
		if args, ok := bootstrapCall(s.words); ok {
			call, calls = args, calls+1
			continue
		}
		first := strings.ToLower(s.words[0].text)
		if calls == 0 && s.depth == 0 && !s.words[0].quoted && slices.Contains([]string{"exit", "throw", "return", "restart-computer", "stop-computer"}, first) {
			return nil, fmt.Errorf("the script in the user data ends with %q before it calls %s", first, windowsBootstrap)
		}
	}
	switch {
	case calls == 0:
		return nil, fmt.Errorf("the script in the user data does not call %s, so no kubelet is configured", windowsBootstrap)
	case calls > 1:
		k.notef("%s is called %d times; the last call counts", windowsBootstrap, calls)
	}
	return k, k.windowsBootstrap(call)
}

// powershellBlock takes the script out of its tags. Text outside of tags is nothing to the launch agent.
func powershellBlock(text string) (string, error) {
	lower := strings.ToLower(text)
	begin := strings.Index(lower, "<powershell>")
	if begin < 0 {
		return "", errors.New("the user data has no <powershell> block: the launch agent of Windows runs nothing of it")
	}
	begin += len("<powershell>")
	end := strings.Index(lower[begin:], "</powershell>")
	if end < 0 {
		return "", errors.New("the <powershell> block of the user data is not closed by </powershell>: the launch agent of Windows runs nothing of it")
	}
	return text[begin : begin+end], nil
}

// bootstrapCall tells whether a statement runs the bootstrap script, and with which words.
func bootstrapCall(words []psWord) ([]psWord, bool) {
	if len(words) > 1 && (words[0].text == "&" || words[0].text == ".") && !words[0].quoted {
		words = words[1:]
	} else if len(words) > 2 && strings.HasPrefix(strings.ToLower(words[0].text), "powershell") {
		at := slices.IndexFunc(words, func(w psWord) bool { return strings.EqualFold(w.text, "-file") })
		if at < 0 || at+1 >= len(words) {
			return nil, false
		}
		words = words[at+1:]
	} else if words[0].quoted {
		return nil, false // a text by itself is only printed
	}
	if !strings.HasSuffix(strings.ToLower(words[0].text), strings.ToLower(windowsBootstrap)) {
		return nil, false
	}
	return words[1:], true
}

// windowsBootstrap applies the arguments of the bootstrap script in the way the script does.
func (k *Kubelet) windowsBootstrap(words []psWord) error {
	given, err := psCall(words, windowsParameters)
	if err != nil {
		return fmt.Errorf("Start-EKSBootstrap.ps1: %w", err)
	}
	if given["EKSClusterName"] == "" {
		return errors.New("Start-EKSBootstrap.ps1: -EKSClusterName is not given")
	}
	k.ClusterName, k.Endpoint, k.CA = given["EKSClusterName"], given["APIServerEndpoint"], given["Base64ClusterCA"]
	k.ServiceCIDR = given["ServiceCIDR"]
	k.GuessCIDR = k.ServiceCIDR == "" && k.Endpoint != "" && k.CA != "" // else the script asks EKS for all three
	if ip := given["DNSClusterIP"]; ip != "" {
		k.ClusterDNS = []string{ip}
	}
	flags, err := windowsArguments(given["KubeletExtraArgs"])
	if err != nil {
		return err
	}
	return k.applyFlags(flags)
}

// windowsArguments cuts a command line of Windows into words: blanks part them, double quotes hold them together.
func windowsArguments(line string) ([]string, error) {
	var out []string
	var word strings.Builder
	quoted, inWord := false, false
	for _, c := range line {
		switch {
		case c == '"':
			quoted, inWord = !quoted, true
		case !quoted && (c == ' ' || c == '\t' || c == '\n'):
			if inWord {
				out = append(out, word.String())
			}
			word.Reset()
			inWord = false
		default:
			word.WriteRune(c)
			inWord = true
		}
	}
	if quoted {
		return nil, fmt.Errorf("the kubelet does not start: a double quote in -KubeletExtraArgs is not closed: %s", line)
	}
	if inWord {
		out = append(out, word.String())
	}
	return slices.DeleteFunc(out, func(w string) bool { // flags that kubelets have on Windows only
		return strings.HasPrefix(w, "--windows-service") || strings.HasPrefix(w, "--windows-priorityclass=")
	}), nil
}

// windowsRelease is a release of Windows Server as nodes name it.
type windowsRelease struct{ build, kernel string }

// windowsReleases by year. Source: Microsoft, Windows Server release information.
var windowsReleases = map[string]windowsRelease{
	"2019": {"10.0.17763", "10.0.17763.7919"},
	"2022": {"10.0.20348", "10.0.20348.4294"},
	"2025": {"10.0.26100", "10.0.26100.6899"},
}

// systemOf is the operating system of an image as nodes name it, and the build of Windows.
func systemOf(image world.Image) (system, build string) {
	if image.Family != world.FamilyWindows {
		return "linux", ""
	}
	return "windows", windowsReleases[image.Release].build
}
