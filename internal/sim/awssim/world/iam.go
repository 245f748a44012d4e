package world

import (
	"regexp"
	"strings"
	"time"
)

// iamState holds the identities of the account and what they may do.
type iamState struct {
	roles        map[string]*roleState       // by name
	policies     map[string]*policyState     // customer-managed, by ARN
	profiles     map[string]*InstanceProfile // by name
	providers    map[string]*OIDCProvider    // by ARN
	keys         map[string]*AccessKey       // by key id
	profileDelay time.Duration               // until EC2 knows a new profile

	aws map[string]*policyState // AWS-managed, by ARN; never changed
	// changes counts what may alter permissions, so that what was worked out before is known to be stale.
	changes uint64
}

func (s *iamState) init() {
	s.roles = map[string]*roleState{}
	s.policies = map[string]*policyState{}
	s.profiles = map[string]*InstanceProfile{}
	s.providers = map[string]*OIDCProvider{}
	s.keys = map[string]*AccessKey{}
}

const (
	statusNotFound = 404
	statusConflict = 409
	maxIAMTags     = 50
)

var (
	iamName = regexp.MustCompile(`^[\w+=,.@-]{1,128}$`)
	iamPath = regexp.MustCompile(`^(/|/[\x21-\x7e]{1,510}/)$`)
)

func noSuchEntity(format string, args ...any) *Error {
	e := Errorf("NoSuchEntity", format, args...)
	e.Status = statusNotFound
	return e
}

func iamConflict(code, format string, args ...any) *Error {
	e := Errorf(code, format, args...)
	e.Status = statusConflict
	return e
}

func checkIAMName(kind, name, path string) *Error {
	longest := 128
	if kind == "roleName" {
		longest = 64
	}
	if len(name) > longest {
		return Errorf("ValidationError", "1 validation error detected: Value '%s' at '%s' failed to satisfy constraint: Member must have length less than or equal to %d", name, kind, longest)
	}
	if !iamName.MatchString(name) {
		return Errorf("ValidationError", "The specified value for %s is invalid. It must contain only alphanumeric characters and/or the following: +=,.@_-", kind)
	}
	if !iamPath.MatchString(path) {
		return Errorf("ValidationError", "The specified value for path is invalid. It must begin and end with / and contain only alphanumeric characters and/or / characters.")
	}
	return nil
}

// StackTagPrefix is that of the tags which CloudFormation puts on what it makes. They are the only ones beginning with
// aws: that are taken, and do not count towards the limit.
const StackTagPrefix = "aws:cloudformation:"

func checkIAMTags(tags map[string]string) *Error {
	n := 0
	for k, v := range tags {
		if strings.HasPrefix(k, StackTagPrefix) {
			continue
		}
		n++
		if k == "" || len(k) > 128 || len(v) > 256 || strings.HasPrefix(strings.ToLower(k), "aws:") {
			return Errorf("InvalidInput", "The tag key %q is empty, too long or begins with the reserved prefix aws:, or its value is too long.", k)
		}
	}
	if n > maxIAMTags {
		return iamConflict("LimitExceeded", "The number of tags has reached the maximum limit of %d.", maxIAMTags)
	}
	return nil
}

// retagIAM is retag within IAM's limits.
func retagIAM(tags *map[string]string, set map[string]string, unset []string) error {
	all := retag(*tags, set, unset)
	if bad := checkIAMTags(all); bad != nil {
		return bad
	}
	*tags = all
	return nil
}

// iamChangedLocked notes that permissions may be other than they were.
func (w *World) iamChangedLocked() { w.iam.changes++ }

func orRoot(path string) string {
	if path == "" {
		return "/"
	}
	return path
}

// iamID makes an identifier such as AROA… with 17 characters behind its kind.
func (w *World) iamIDLocked(kind string) string {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
	b := []byte(kind)
	for range 17 {
		b = append(b, letters[w.rand.IntN(len(letters))])
	}
	return string(b)
}

func (w *World) iamARN(kind, path, name string) string {
	return "arn:" + w.Partition() + ":iam::" + w.opts.Account + ":" + kind + path + name
}
