package world

import (
	"encoding/base64"
	"maps"
	"slices"
	"strconv"
	"time"
)

// LaunchTemplate is a named set of launch parameters with versions.
type LaunchTemplate struct {
	ID, Name  string
	Created   time.Time
	CreatedBy string
	Default   int64
	Versions  []TemplateVersion // oldest first
	Tags      map[string]string
}

// TemplateVersion is one version of a launch template. Data must not be changed.
type TemplateVersion struct {
	Number      int64
	Description string
	Created     time.Time
	CreatedBy   string
	Data        LaunchData
}

// TemplateRef names a launch template, by id or name, and a version: a number, $Latest, $Default or "" (default).
type TemplateRef struct {
	ID      string `query:"LaunchTemplateId" xml:"launchTemplateId,omitempty"`
	Name    string `query:"LaunchTemplateName" xml:"launchTemplateName,omitempty"`
	Version string `query:"Version" xml:"version,omitempty"`
}

// Latest is the highest version number.
func (t *LaunchTemplate) Latest() int64 { return t.Versions[len(t.Versions)-1].Number }

func (t *LaunchTemplate) clone() LaunchTemplate {
	c := *t
	c.Tags = maps.Clone(t.Tags)
	c.Versions = slices.Clone(t.Versions)
	return c
}

// maxUserData is how long user data may be once decoded.
const maxUserData = 16384

// maxTemplates is how many launch templates a region may hold.
const maxTemplates = 5000

// CreateTemplate makes a launch template with one version. The same non-empty token returns the template that the first
// call made.
func (w *World) CreateTemplate(name, description, createdBy, token string, data LaunchData, tags map[string]string) (LaunchTemplate, error) {
	if err := checkUserData(data.UserData); err != nil {
		return LaunchTemplate{}, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	seen, err := w.tokenLocked("CreateLaunchTemplate", token, []any{name, description, data, tags})
	if err != nil {
		return LaunchTemplate{}, err
	}
	if id, ok := seen.(string); ok && w.ec2.templates[id] != nil {
		return w.ec2.templates[id].clone(), nil
	}
	if w.templateNamedLocked(name) != nil {
		return LaunchTemplate{}, Errorf("InvalidLaunchTemplateName.AlreadyExistsException", "Launch template name already in use.")
	}
	if len(w.ec2.templates) >= maxTemplates {
		return LaunchTemplate{}, Errorf("MaxTemplateLimitExceeded", "Account has already reached max permitted templates")
	}
	now := w.clock.Now()
	t := &LaunchTemplate{
		ID: w.newIDLocked("lt"), Name: name, Created: now, CreatedBy: createdBy, Default: 1, Tags: maps.Clone(tags),
		Versions: []TemplateVersion{{1, description, now, createdBy, data}},
	}
	w.ec2.templates[t.ID] = t
	w.ec2.templateIDs[name] = t.ID
	w.keepTokenLocked("CreateLaunchTemplate", token, t.ID)
	return t.clone(), nil
}

// AddTemplateVersion adds a version and returns its number.
func (w *World) AddTemplateVersion(ref TemplateRef, description, createdBy string, data LaunchData) (TemplateVersion, LaunchTemplate, error) {
	if err := checkUserData(data.UserData); err != nil {
		return TemplateVersion{}, LaunchTemplate{}, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	t, err := w.templateLocked(ref)
	if err != nil {
		return TemplateVersion{}, LaunchTemplate{}, err
	}
	v := TemplateVersion{t.Latest() + 1, description, w.clock.Now(), createdBy, data}
	t.Versions = append(t.Versions, v)
	return v, t.clone(), nil
}

// SetDefaultVersion makes another version the default one.
func (w *World) SetDefaultVersion(ref TemplateRef, number int64) (LaunchTemplate, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	t, err := w.templateLocked(ref)
	if err != nil {
		return LaunchTemplate{}, err
	}
	if _, err := t.Version(strconv.FormatInt(number, 10)); err != nil {
		return LaunchTemplate{}, err
	}
	t.Default = number
	return t.clone(), nil
}

// DeleteTemplate removes a launch template.
func (w *World) DeleteTemplate(ref TemplateRef) (LaunchTemplate, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	t, err := w.templateLocked(ref)
	if err != nil {
		return LaunchTemplate{}, err
	}
	delete(w.ec2.templates, t.ID)
	delete(w.ec2.templateIDs, t.Name)
	return t.clone(), nil
}

// Templates returns all launch templates by id.
func (w *World) Templates() []LaunchTemplate {
	w.mu.Lock()
	defer w.mu.Unlock()
	return sorted(w.ec2.templates, (*LaunchTemplate).clone)
}

// Template returns one launch template.
func (w *World) Template(ref TemplateRef) (LaunchTemplate, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	t, err := w.templateLocked(ref)
	if err != nil {
		return LaunchTemplate{}, err
	}
	return t.clone(), nil
}

func (w *World) templateNamedLocked(name string) *LaunchTemplate {
	return w.ec2.templates[w.ec2.templateIDs[name]]
}

func (w *World) templateLocked(ref TemplateRef) (*LaunchTemplate, error) {
	switch {
	case ref.ID != "" && ref.Name != "":
		return nil, Errorf("InvalidParameterCombination", "Give either a launch template id or a name, not both.")
	case ref.ID != "":
		if t := w.ec2.templates[ref.ID]; t != nil {
			return t, nil
		}
		return nil, Errorf("InvalidLaunchTemplateId.NotFound", "The specified launch template, with template ID %s, does not exist.", ref.ID)
	case ref.Name != "":
		if t := w.templateNamedLocked(ref.Name); t != nil {
			return t, nil
		}
		return nil, Errorf("InvalidLaunchTemplateName.NotFoundException",
			"At least one of the launch templates specified in the request does not exist.")
	}
	return nil, Errorf("MissingParameter", "The request must name a launch template by id or by name.")
}

// Version returns the version that a reference means.
func (t *LaunchTemplate) Version(ref string) (TemplateVersion, error) {
	number := t.Default
	switch ref {
	case "", "$Default":
	case "$Latest":
		number = t.Latest()
	default:
		n, err := strconv.ParseInt(ref, 10, 64)
		if err != nil {
			return TemplateVersion{}, Errorf("InvalidLaunchTemplateVersion.Malformed", "%q is not a launch template version.", ref)
		}
		number = n
	}
	for _, v := range t.Versions {
		if v.Number == number {
			return v, nil
		}
	}
	return TemplateVersion{}, Errorf("InvalidLaunchTemplateId.VersionNotFound",
		"Could not find launch template version %s of %s.", ref, t.ID)
}

func checkUserData(encoded string) *Error {
	b, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		return Errorf("InvalidUserData.Malformed", "Invalid BASE64 encoding of user data.")
	}
	if len(b) > maxUserData {
		return Errorf("InvalidUserData.Malformed", "User data is limited to %d bytes", maxUserData)
	}
	return nil
}
