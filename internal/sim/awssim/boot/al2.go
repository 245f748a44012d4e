package boot

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

const bootstrapScript = "/etc/eks/bootstrap.sh"

// readAL2 reads user data as Amazon Linux 2 does: cloud-init runs the shell parts, one of which calls the bootstrap
// script of the image.
func readAL2(userData []byte) (*Kubelet, error) {
	parts, err := readParts(userData)
	if err != nil {
		return nil, err
	}
	k := newKubelet()
	var call []string
	calls := 0
	for i, p := range parts {
		isScript := strings.HasPrefix(strings.TrimLeft(p.body, " \t\r\n"), "#!")
		if p.mediaType != "text/x-shellscript" && !isScript {
			k.notef("part %d (%s) is no shell script and is left to cloud-init", i+1, orUnnamed(p.mediaType))
			continue
		}
		for _, words := range shellCommands(p.body) {
			if at := slices.Index(words, bootstrapScript); at >= 0 && runs(words[:at]) {
				call, calls = words[at+1:], calls+1
			}
		}
	}
	switch {
	case calls == 0:
		return nil, fmt.Errorf("no script in the user data calls %s, so no kubelet is configured", bootstrapScript)
	case calls > 1:
		k.notef("%s is called %d times; the last call counts", bootstrapScript, calls)
	}
	return k, k.bootstrap(call)
}

func orUnnamed(mediaType string) string {
	if mediaType == "" {
		return "without a type"
	}
	return mediaType
}

// runs tells whether the words before a command leave it a command: sudo, bash, exec, if, then and the like.
func runs(before []string) bool {
	for _, w := range before {
		switch path.Base(w) {
		case "sudo", "bash", "sh", "exec", "if", "then", "else", "elif", "do", "time", "nohup", "!", "{", "-x", "-e", "-xe", "-ex", "-E":
		default:
			return false
		}
	}
	return true
}

// bootstrapFlags says which arguments of the script take a value.
var bootstrapFlags = []string{
	"--use-max-pods", "--b64-cluster-ca", "--apiserver-endpoint", "--kubelet-extra-args", "--enable-docker-bridge",
	"--aws-api-retry-attempts", "--docker-config-json", "--containerd-config-file", "--pause-container-account",
	"--pause-container-version", "--dns-cluster-ip", "--ip-family", "--service-ipv6-cidr", "--enable-local-outpost",
	"--cluster-id", "--mount-bpf-fs", "--local-disks", "--container-runtime", "--kubelet-config",
}

// bootstrap applies the arguments of the bootstrap script in the way the script does.
func (k *Kubelet) bootstrap(words []string) error {
	given := map[string]string{}
	var positional []string
	for i := 0; i < len(words); i++ {
		w := words[i]
		if strings.HasPrefix(w, ">") || strings.HasPrefix(w, "2>") {
			break // the rest is where the output goes
		}
		if !slices.Contains(bootstrapFlags, w) {
			positional = append(positional, w)
			continue
		}
		if i+1 >= len(words) {
			return fmt.Errorf("%s: %s has no value", bootstrapScript, w)
		}
		i++
		given[w] = words[i]
	}
	if len(positional) == 0 || positional[0] == "" {
		return fmt.Errorf("%s: the cluster name is not given", bootstrapScript)
	}
	if len(positional) > 1 {
		k.notef("%s ignores the arguments %q", bootstrapScript, positional[1:])
	}
	k.ClusterName, k.Endpoint, k.CA = positional[0], given["--apiserver-endpoint"], given["--b64-cluster-ca"]
	if ip := given["--dns-cluster-ip"]; ip != "" {
		k.ClusterDNS = []string{ip}
	}
	k.RAID0 = given["--local-disks"] == "raid0" || given["--local-disks"] == "raid10"
	k.NoMaxPodsDefault = given["--use-max-pods"] == "false"
	var flags []string
	for _, command := range shellCommands(given["--kubelet-extra-args"]) {
		flags = append(flags, command...)
	}
	return k.applyFlags(flags)
}
