package simulate

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/awsmodel/ec2facts"
	"github.com/kerf-sh/kerf/internal/local"
	"github.com/kerf-sh/kerf/internal/setup/changeplan"
	"github.com/kerf-sh/kerf/internal/sim/simcluster"
	"github.com/kerf-sh/kerf/internal/simulate/workload"
)

// SettingsFile is the file of a configuration's folder that has settings of the controller, as NAME=VALUE in lines.
const SettingsFile = "settings.env"

// File is a file of a configuration.
type File struct {
	Name string // as messages name it
	Data []byte
}

// Configuration is what a run is of: NodePools, EC2NodeClasses and settings of the controller.
type Configuration struct {
	Name      string
	Manifests []Manifest
	Settings  map[string]string
	// Region is where its NodePools say that they are, or those of the configurations that it is compared with; empty if they do not.
	Region string
	Notes  []workload.Note
	// Warnings are what the controller warns of in the settings.
	Warnings []string

	places map[string]string // where each setting is from
}

// Configure reads a configuration from files: NodePools and EC2NodeClasses, and settings of a file that is named SettingsFile. With
// no NodePool among them it is the one of the quick start. What EC2NodeClasses select is replaced by what the simulated account
// has, so that nobody has to edit a file; the notes say what was. Settings of set, as NAME=VALUE, beat those of files.
//
// Errors: of the files, with file, line and field, and of set.
func Configure(name string, files []File, set ...string) (*Configuration, error) {
	c := &Configuration{Name: name, Settings: map[string]string{}, places: map[string]string{}}
	var all []*changeplan.Document
	var errs []error
	for _, f := range files {
		if filepath.Base(f.Name) == SettingsFile {
			errs = append(errs, c.readSettings(f))
			continue
		}
		found, skipped, err := changeplan.Parse(changeplan.File{Name: f.Name, Data: f.Data})
		errs = append(errs, err)
		for _, what := range skipped {
			c.note("objects that are neither NodePool nor EC2NodeClass are left out (workloads: --manifests)", what)
		}
		all = append(all, found...)
	}
	for _, pair := range set {
		errs = append(errs, c.setPair(pair))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	if err := c.checkSettings(); err != nil {
		return nil, err
	}
	return c, c.take(all)
}

// take checks and adapts the objects.
func (c *Configuration) take(all []*changeplan.Document) error {
	pools := func(d *changeplan.Document) bool { return d.Kind == changeplan.KindPool }
	if !slices.ContainsFunc(all, pools) {
		quick, _, err := changeplan.Parse(changeplan.File{Name: "the pool of the quick start", Data: local.DefaultManifests(simcluster.ClusterName)})
		if err != nil {
			return err
		}
		if len(all) == 0 {
			c.note("no NodePool is given: the one of the quick start is used (kerf local up has it)", "default")
		} else {
			return errors.New("there are EC2NodeClasses and no NodePool in the files: add the NodePool, or give none of both to use those of the quick start")
		}
		all = quick
	}
	seen := map[string]*changeplan.Document{}
	classes, wanted := map[string]bool{}, map[string]*changeplan.Document{}
	var errs []error
	for _, d := range all {
		if other := seen[d.Kind+"/"+d.Name]; other != nil {
			errs = append(errs, fmt.Errorf("%s:%d: %s %s is there twice; it is in %s:%d too", d.File, d.Line(), d.Kind, d.Name, other.File, other.Line()))
			continue
		}
		seen[d.Kind+"/"+d.Name] = d
		o, err := d.Check()
		if err != nil {
			errs = append(errs, err)
			continue
		}
		switch o := o.(type) {
		case *karpv1.NodePool:
			if ref := o.Spec.Template.Spec.NodeClassRef; ref != nil {
				wanted[ref.Name] = d
			}
			c.regionOf(o)
		case *awsv1.EC2NodeClass:
			classes[d.Name] = true
			c.adapt(o)
		}
		text, err := json.Marshal(o)
		if err != nil {
			return err
		}
		c.Manifests = append(c.Manifests, Manifest{From: fmt.Sprintf("%s:%d", d.File, d.Line()), JSON: string(text)})
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	return c.completeClasses(classes, wanted)
}

// completeClasses makes the classes that pools name and that are not in the files.
func (c *Configuration) completeClasses(classes map[string]bool, wanted map[string]*changeplan.Document) error {
	names := []string{}
	for name := range wanted {
		if !classes[name] {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		class := &awsv1.EC2NodeClass{}
		class.APIVersion, class.Kind, class.Name = awsv1.GroupVersion.String(), changeplan.KindClass, name
		c.adapt(class)
		c.note("EC2NodeClasses that NodePools name and that are not in the files: one of Amazon Linux 2023 with 20 GiB is used", "EC2NodeClass "+name)
		text, err := json.Marshal(class)
		if err != nil {
			return err
		}
		c.Manifests = append(c.Manifests, Manifest{From: "made for " + wanted[name].Name, JSON: string(text)})
	}
	return nil
}

// regionOf learns the region from the zones and regions that a pool asks for.
func (c *Configuration) regionOf(p *karpv1.NodePool) {
	for _, r := range p.Spec.Template.Spec.Requirements {
		if r.Operator != corev1.NodeSelectorOpIn || len(r.Values) == 0 || c.Region != "" {
			continue
		}
		switch r.Key {
		case corev1.LabelTopologyRegion:
			c.Region = r.Values[0]
		case corev1.LabelTopologyZone:
			facts, err := ec2facts.Load()
			if err != nil {
				return
			}
			for _, region := range facts.Regions() {
				zones, _ := facts.Zones(region)
				if slices.ContainsFunc(zones, func(z ec2facts.Zone) bool { return z.Name == r.Values[0] }) {
					c.Region = region
				}
			}
		}
	}
}

// adapt lets a class select what the simulated account has.
func (c *Configuration) adapt(class *awsv1.EC2NodeClass) {
	name := "EC2NodeClass " + class.Name
	own := map[string]string{"karpenter.sh/discovery": simcluster.ClusterName}
	s := &class.Spec
	s.SubnetSelectorTerms = []awsv1.SubnetSelectorTerm{{Tags: own}}
	s.SecurityGroupSelectorTerms = []awsv1.SecurityGroupSelectorTerm{{Tags: own}}
	s.Role, s.InstanceProfile = "KarpenterNodeRole-"+simcluster.ClusterName, nil
	c.note("subnets, security groups and roles of EC2NodeClasses are those of the simulated account: a private subnet in each zone, with 8,000 addresses", name)
	c.adaptImages(class, name)
	if s.LaunchTemplate != nil {
		s.LaunchTemplate = nil
		c.note("launch templates of your own are replaced by those that Kerf makes", name)
	}
	if s.CapacityReservationSelectorTerms != nil {
		s.CapacityReservationSelectorTerms = nil
		c.note("capacity reservations are not simulated: nothing is launched as reserved", name)
	}
	if s.PlacementGroupSelector != nil {
		s.PlacementGroupSelector = nil
		c.note("placement groups are not simulated", name)
	}
	for i := range s.BlockDeviceMappings {
		if e := s.BlockDeviceMappings[i].EBS; e != nil && (e.KMSKeyID != nil || e.SnapshotID != nil) {
			e.KMSKeyID, e.SnapshotID = nil, nil
			c.note("keys and snapshots of volumes are left out", name)
		}
	}
}

// adaptImages lets a class select the newest image of its family.
func (c *Configuration) adaptImages(class *awsv1.EC2NodeClass, name string) {
	s := &class.Spec
	family := class.ResolvedAMIFamily()
	alias, err := class.Alias()
	if err == nil && alias != nil && alias.IsLatest() && family != awsv1.AMIFamilyAL2 {
		return
	}
	to := awsv1.AMIFamilyAL2023
	switch family {
	case awsv1.AMIFamilyBottlerocket, awsv1.AMIFamilyWindows2019, awsv1.AMIFamilyWindows2022, awsv1.AMIFamilyWindows2025:
		to = family
	case awsv1.AMIFamilyAL2023, "":
	default:
		s.UserData = nil // of another family
	}
	if class.Spec.AMISelectorTerms != nil {
		c.note("images are the newest of their family, or of Amazon Linux 2023 where the family is AL2 or Custom; their user data is left out then", name)
	}
	s.AMIFamily = nil
	s.AMISelectorTerms = []awsv1.AMISelectorTerm{{Alias: strings.ToLower(string(to)) + "@" + awsv1.AliasVersionLatest}}
}

func (c *Configuration) note(what, example string) {
	for i := range c.Notes {
		if c.Notes[i].What == what {
			c.Notes[i].Count++
			return
		}
	}
	c.Notes = append(c.Notes, workload.Note{What: what, Count: 1, Example: example})
}

// readSettings reads NAME=VALUE in lines; those that begin with # are comments.
func (c *Configuration) readSettings(f File) error {
	var errs []error
	lines := bufio.NewScanner(bytes.NewReader(f.Data))
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(lines.Text()), "export "))
		if line == "" || line[0] == '#' {
			continue
		}
		name, value, ok := strings.Cut(line, "=")
		if !ok || name == "" {
			errs = append(errs, fmt.Errorf("%s:%d: want NAME=VALUE, as in BATCH_IDLE_DURATION=2s", f.Name, n))
			continue
		}
		errs = append(errs, c.set(fmt.Sprintf("%s:%d", f.Name, n), name, strings.Trim(value, `"'`)))
	}
	return errors.Join(append(errs, lines.Err())...)
}
