package boot_test

import (
	"strings"
	"testing"

	"github.com/kerf-sh/kerf/internal/sim/awssim/boot"
	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
)

func TestDisksBecomeEphemeralStorageAsTheImageIsTold(t *testing.T) {
	al2 := "#!/bin/sh\n/etc/eks/bootstrap.sh demo "
	localStorage := func(strategy string) string {
		return nodeConfig(fullCluster, "  instance:\n    localStorage:\n      strategy: "+strategy+"\n")
	}
	bottlerocket := func(more string, commands ...string) string {
		return bottlerocketBase + "[settings.bootstrap-commands.disks]\ncommands = [[\"" + strings.Join(commands, "\"], [\"") + "\"]]\n" + more
	}
	const (
		initialise = `apiclient", "ephemeral-storage", "init`
		bind       = `apiclient", "ephemeral-storage", "bind`
		dirs       = `", "--dirs", "/var/lib/containerd", "/var/lib/kubelet`
		always     = "mode = \"always\"\nessential = true\n"
	)
	for what, tt := range map[string]struct {
		family   world.Family
		release  string
		userData string
		want     bool
		err      string
	}{
		"AL2 is told":                                        {world.FamilyAL2, "", al2 + "--local-disks raid0", true, ""},
		"AL2 is told of RAID10":                              {world.FamilyAL2, "", al2 + "--local-disks raid10", true, ""},
		"AL2 only mounts them":                               {world.FamilyAL2, "", al2 + "--local-disks mount", false, ""},
		"AL2 is not told":                                    {world.FamilyAL2, "", al2, false, ""},
		"AL2023 is told":                                     {world.FamilyAL2023, "", localStorage("RAID0"), true, ""},
		"AL2023 only mounts them":                            {world.FamilyAL2023, "", localStorage("Mount"), false, ""},
		"AL2023 is told nonsense":                            {world.FamilyAL2023, "", localStorage("raid0"), false, "RAID0, RAID10 and Mount exist"},
		"Bottlerocket before 1.46.0 with directories":        {world.FamilyBottlerocket, "1.45.2", bottlerocket(always, initialise, bind+dirs), true, ""},
		"Bottlerocket before 1.46.0 without directories":     {world.FamilyBottlerocket, "1.45.2", bottlerocket(always, initialise, bind), false, "--dirs is missing, which release 1.45.2 needs"},
		"Bottlerocket 1.46.0 without directories":            {world.FamilyBottlerocket, "1.46.0", bottlerocket(always, initialise, bind), true, ""},
		"Bottlerocket 2.0.0 without directories":             {world.FamilyBottlerocket, "2.0.0", bottlerocket(always, initialise, bind), true, ""},
		"Bottlerocket binds other directories":               {world.FamilyBottlerocket, "1.50.0", bottlerocket(always, initialise, bind+`", "--dirs", "/var/log/pods`), false, ""},
		"Bottlerocket binds nothing":                         {world.FamilyBottlerocket, "1.50.0", bottlerocket(always, initialise), false, ""},
		"Bottlerocket binds what is not there":               {world.FamilyBottlerocket, "1.50.0", bottlerocket(always, bind), false, "init has not run"},
		"a Bottlerocket command that fails and may":          {world.FamilyBottlerocket, "1.45.0", bottlerocket("mode = \"once\"\n", initialise, bind), false, ""},
		"a Bottlerocket command without a mode is not run":   {world.FamilyBottlerocket, "1.50.0", bottlerocket("", initialise, bind), false, ""},
		"a Bottlerocket command whose mode is no text":       {world.FamilyBottlerocket, "1.50.0", bottlerocket("mode = 1\n", initialise, bind), false, "disks.mode must be a string"},
		"a Bottlerocket command whose words are not of text": {world.FamilyBottlerocket, "1.50.0", bottlerocketBase + "[settings.bootstrap-commands.x]\ncommands = [[1]]\nmode = \"once\"\n", false, "want words"},
	} {
		k, err := boot.Read(world.Image{Family: tt.family, Release: tt.release}, []byte(tt.userData))
		switch {
		case tt.err != "":
			if err == nil || !strings.Contains(err.Error(), tt.err) {
				t.Errorf("%s: got error %v, want %q", what, err, tt.err)
			}
		case err != nil:
			t.Errorf("%s: %v", what, err)
		case k.RAID0 != tt.want:
			t.Errorf("%s: got %t, want %t", what, k.RAID0, tt.want)
		}
	}
}

func TestThresholdsThatAKubeletDoesNotStartWith(t *testing.T) {
	config := func(c string) string { return nodeConfig(fullCluster, "  kubelet:\n    config: {"+c+"}\n") }
	for what, tt := range map[string]struct{ userData, want string }{
		"a soft threshold without grace":   {config("evictionSoft: {memory.available: 1Gi}"), "no period of grace"},
		"a grace that is no time":          {config("evictionSoft: {memory.available: 1Gi}, evictionSoftGracePeriod: {memory.available: long}"), "no time"},
		"images kept to more than they go": {config("imageGCHighThresholdPercent: 70, imageGCLowThresholdPercent: 70"), "must be less"},
		"a low one above the kubelet's":    {config("imageGCLowThresholdPercent: 90"), "must be less"},
	} {
		l := newLab(t, nil)
		i := l.launch(world.FamilyAL2023, world.VariantStandard, "m5.large", tt.userData, nil)
		l.settle()
		if got := l.log(i.ID); !strings.Contains(got, tt.want) || len(l.nodes()) != 0 {
			t.Errorf("%s: %d nodes, boot log\n%s", what, len(l.nodes()), got)
		}
	}
}
