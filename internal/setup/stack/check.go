package stack

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/kerf-sh/kerf/internal/awsmodel/awssetup"
	"github.com/kerf-sh/kerf/internal/awsmodel/iampolicy"
	"github.com/kerf-sh/kerf/internal/awsmodel/partition"
)

// Limits of AWS on names.
const (
	maxClusterName = 100
	maxRoleName    = 64
	maxPolicyName  = 128
	maxQueueName   = 80
	maxPolicies    = 10 // attached to a role
)

var (
	clusterNames = regexp.MustCompile(`^[0-9A-Za-z][0-9A-Za-z_-]*$`)
	iamNames     = regexp.MustCompile(`^[0-9A-Za-z_+=,.@-]+$`)
	queueNames   = regexp.MustCompile(`^[0-9A-Za-z_-]+$`)
	paths        = regexp.MustCompile(`^/([0-9A-Za-z_+=,.@-]+/)*$`)
	accounts     = regexp.MustCompile(`^[0-9]{12}$`)
	regions      = regexp.MustCompile(`^[a-z]{2,4}(-[a-z]+)+-[0-9]+$`)
	arns         = regexp.MustCompile(`^arn:(aws[a-z-]*):([a-z0-9-]+):([a-z0-9-]*|\*):([0-9]{12}|aws|\*)?:(.+)$`)
	issuers      = regexp.MustCompile(`^[a-zA-Z0-9-]+(\.[a-zA-Z0-9-]+)+(:[0-9]+)?(/[A-Za-z0-9._~-]+)*$`)
	dnsLabels    = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]*[a-z0-9])?$`)
)

// The parts of ARNs that are names. A policy may name many keys by * and ?.
var (
	keyIDs      = regexp.MustCompile(`^arn:aws[a-z-]*:kms:[^:]+:[^:]+:key/[0-9A-Za-z*?-]+$`)
	policyNames = regexp.MustCompile(`^arn:aws[a-z-]*:iam::([0-9]{12}|aws):policy/[0-9A-Za-z_+=,.@/-]+$`)
)

// exampleKey is the ARN of a key as it looks.
const exampleKey = "arn:aws:kms:eu-west-1:111122223333:key/1234abcd-12ab-34cd-56ef-1234567890ab"

// complete checks the options and brings them into the form that the model uses.
func (o *Options) complete() error {
	if o.Path == "" {
		o.Path = "/"
	}
	if o.Controller == "" {
		o.Controller = None
	}
	if o.AccessEntry == "none" {
		o.AccessEntry = ""
	}
	if o.QueueARN != "" {
		o.DeadLetter, o.Alarms, o.RuleSources = false, false, false
	}
	if iamNames.MatchString(o.NodeRole) && len(o.NodeRole) <= maxRoleName {
		o.NodeRole = "arn:" + refPartition + ":iam::" + refAccount + ":role/" + o.NodeRole
	}
	return errors.Join(o.checkCluster(), o.checkNames(), o.checkIdentity(), o.checkQueue(), o.checkFeatures(), o.checkTags(), o.checkAdoption())
}

func (o *Options) checkCluster() error {
	var errs []error
	switch {
	case o.ClusterName == "":
		errs = append(errs, errors.New("--cluster-name is missing"))
	case len(o.ClusterName) > maxClusterName:
		errs = append(errs, fmt.Errorf("--cluster-name has %d characters, EKS allows %d", len(o.ClusterName), maxClusterName))
	case !clusterNames.MatchString(o.ClusterName):
		errs = append(errs, fmt.Errorf("--cluster-name %q: use letters, digits, - and _, beginning with a letter or digit, as EKS does", o.ClusterName))
	}
	if o.Region != "" && !regions.MatchString(o.Region) {
		errs = append(errs, fmt.Errorf("--region %q is not a region such as eu-west-1", o.Region))
	}
	if o.AccountID != "" && !accounts.MatchString(o.AccountID) {
		errs = append(errs, fmt.Errorf("--account-id %q: an account has 12 digits", o.AccountID))
	}
	if !slices.Contains(Editions(), o.Compat) {
		errs = append(errs, fmt.Errorf("--compat %q is not one of %s, %s, %s, %s", o.Compat, V032, V032Later, V10, Latest))
	}
	if o.Compat == V032 && partition.Of(o.Region).EC2Service() != partition.EC2Service {
		errs = append(errs, fmt.Errorf("--compat %s lets roles be passed to ec2.amazonaws.com only, which is not what EC2 is called in %s: use --compat %s", V032, o.Region, V032Later))
	}
	return errors.Join(errs...)
}

// checkNames holds the names that follow from the cluster's to what AWS allows.
func (o *Options) checkNames() error {
	check := func(what, flag, given, derived string, limit int, form *regexp.Regexp) error {
		name := given
		if name == "" {
			name = derived
		}
		switch {
		case len(name) > limit && given == "":
			return fmt.Errorf("the name of the %s would be %s, which has %d characters where AWS allows %d: give a shorter one with %s",
				what, name, len(name), limit, flag)
		case len(name) > limit:
			return fmt.Errorf("%s %s has %d characters, AWS allows %d for the %s", flag, name, len(name), limit, what)
		case given != "" && !form.MatchString(given):
			return fmt.Errorf("%s %q: the name of the %s has characters that AWS does not allow", flag, given, what)
		}
		return nil
	}
	c := o.ClusterName
	var errs []error
	switch {
	case o.NodeRole == "":
		errs = append(errs, check("node role", "--node-role-name", o.NodeRoleName, "KarpenterNodeRole-"+c, maxRoleName, iamNames))
	case o.NodeRoleName != "":
		errs = append(errs, errors.New("--node-role names a role that exists and --node-role-name the one to make: give one of them"))
	case isPlaceholder(o.NodeRole):
		errs = append(errs, fmt.Errorf("--node-role %s: put the role's own name or ARN in place of the word, such as nodes or arn:aws:iam::111122223333:role/nodes",
			policyName(o.NodeRole)))
	case strings.HasPrefix(o.NodeRole, "arn:"+refPartition+":iam::"+refAccount+":role/"): // it was a name
	case !roleARN.MatchString(o.NodeRole):
		errs = append(errs, fmt.Errorf("--node-role %q is neither the name nor the ARN of a role, such as nodes or arn:aws:iam::111122223333:role/nodes", o.NodeRole))
	case o.AccountID != "" && !strings.Contains(o.NodeRole, "::"+o.AccountID+":"):
		errs = append(errs, fmt.Errorf("--node-role %s is not of account %s: instances take roles of their own account only", o.NodeRole, o.AccountID))
	default:
		errs = append(errs, o.checkPartition("--node-role", o.NodeRole))
	}
	if o.Controller != None {
		errs = append(errs, check("controller role", "--controller-role-name", o.ControllerRoleName, c+"-karpenter", maxRoleName, iamNames))
	}
	limit := maxQueueName
	if o.DeadLetter {
		limit -= len(deadSuffix)
	}
	err := check("interruption queue", "--queue-name", o.QueueName, c, limit, queueNames)
	if err != nil && o.DeadLetter {
		err = fmt.Errorf("%w (with room for %s, which the dead-letter queue has after it)", err, deadSuffix)
	}
	if strings.HasSuffix(o.QueueName, ".fifo") {
		err = errors.New("--queue-name: EventBridge rules of this stack need a standard queue, not a FIFO one: leave out .fifo")
	}
	if o.QueueARN == "" {
		errs = append(errs, err)
	}
	errs = append(errs, o.checkPolicyNames())
	if o.PolicySuffix != "" && !iamNames.MatchString(o.PolicySuffix) {
		errs = append(errs, fmt.Errorf("--policy-suffix %q has characters that IAM does not allow", o.PolicySuffix))
	}
	if !paths.MatchString(o.Path) || len(o.Path) > 512 {
		errs = append(errs, fmt.Errorf("--path %q must begin and end with /, such as /karpenter/", o.Path))
	}
	return errors.Join(errs...)
}

// checkPolicyNames tries the longest of the policies' names, so that it is said together with what else is too long.
func (o *Options) checkPolicyNames() error {
	name := onePolicy
	if o.Compat == Latest {
		name = discoveryPolicy
	}
	name += "-" + cmp.Or(o.PolicySuffix, o.ClusterName)
	if len(name) <= maxPolicyName {
		return nil
	}
	return longPolicyName(name)
}

func longPolicyName(name string) error {
	return fmt.Errorf("the name of policy %s would have %d characters, IAM allows %d: give a shorter end than the cluster's name with --policy-suffix",
		name, len(name), maxPolicyName)
}

func (o *Options) checkIdentity() error {
	var errs []error
	switch b := o.PermissionsBoundary; {
	case b == "":
	case !policyNames.MatchString(b):
		errs = append(errs, fmt.Errorf("--permissions-boundary %q is not the ARN of a policy, such as arn:aws:iam::111122223333:policy/boundary", b))
	case o.AccountID != "" && !strings.Contains(b, "::"+o.AccountID+":") && !isAWSPolicy(b):
		errs = append(errs, fmt.Errorf("--permissions-boundary %s is not of account %s: roles take policies of their own account, and AWS's own", b, o.AccountID))
	default:
		errs = append(errs, o.checkPartition("--permissions-boundary", b))
	}
	switch o.AccessEntry {
	case "", "EC2_LINUX", "EC2_WINDOWS":
	default:
		errs = append(errs, fmt.Errorf("--access-entry %q is not one of EC2_LINUX, EC2_WINDOWS, none", o.AccessEntry))
	}
	switch o.Controller {
	case None:
		return errors.Join(errs...)
	case PodIdentity:
		if o.OIDCProvider != "" {
			errs = append(errs, errors.New("--oidc-provider is for --controller irsa; pod identity needs none"))
		}
	case IRSA:
		errs = append(errs, o.checkOIDC())
	default:
		errs = append(errs, fmt.Errorf("--controller %q is not one of %s, %s, %s", o.Controller, PodIdentity, IRSA, None))
	}
	if !dnsLabels.MatchString(o.Namespace) {
		errs = append(errs, fmt.Errorf("--namespace %q is not the name of a namespace", o.Namespace))
	}
	if o.ServiceAccount == "" || strings.ContainsAny(o.ServiceAccount, ":*? /") {
		errs = append(errs, fmt.Errorf("--service-account %q is not the name of a service account", o.ServiceAccount))
	}
	return errors.Join(errs...)
}

func (o *Options) checkOIDC() error {
	_, host := o.oidc()
	m := arns.FindStringSubmatch(o.OIDCProvider)
	isProvider := m != nil && m[2] == "iam" && m[3] == "" && accounts.MatchString(m[4]) && strings.HasPrefix(m[5], "oidc-provider/")
	switch {
	case o.OIDCProvider == "":
		return errors.New("--controller irsa needs --oidc-provider: the issuer URL that aws eks describe-cluster shows, or the provider's ARN")
	case !isProvider && !strings.HasPrefix(o.OIDCProvider, "https://"), !issuers.MatchString(host):
		return fmt.Errorf("--oidc-provider %q is neither an issuer URL (https://oidc.eks.eu-west-1.amazonaws.com/id/…) nor the ARN of a provider", o.OIDCProvider)
	}
	return o.checkPartition("--oidc-provider", o.OIDCProvider)
}

// oidc is the ARN of the cluster's identity provider, and its issuer as condition keys have it.
func (o *Options) oidc() (provider, host string) {
	if _, host, ok := strings.Cut(o.OIDCProvider, ":oidc-provider/"); ok {
		return o.OIDCProvider, host
	}
	host = strings.TrimSuffix(strings.TrimPrefix(o.OIDCProvider, "https://"), "/")
	return "arn:" + refPartition + ":iam::" + refAccount + ":oidc-provider/" + host, host
}

func (o *Options) checkQueue() error {
	var errs []error
	if o.Retention < time.Minute || o.Retention > 14*24*time.Hour || o.Retention%time.Second != 0 {
		errs = append(errs, fmt.Errorf("--retention %s: SQS keeps messages for 1m to 336h, in whole seconds; 5m is right, older notices are of no use", o.Retention))
	}
	if o.Visibility < 0 || o.Visibility > 12*time.Hour || o.Visibility%time.Second != 0 {
		errs = append(errs, fmt.Errorf("--visibility %s: SQS allows up to 12h, in whole seconds", o.Visibility))
	}
	if o.DeadLetter && (o.MaxReceives < 1 || o.MaxReceives > awssetup.Tries) {
		errs = append(errs, fmt.Errorf("--max-receives %d: it is 1 to %d; the controller deletes a message that failed more often, and the dead-letter queue would never see it", o.MaxReceives, awssetup.Tries))
	}
	return errors.Join(append(errs, o.checkQueueARN(), o.checkKey())...)
}

// queueARN is the ARN of one standard queue: partition, region, account, name.
var queueARN = regexp.MustCompile(`^arn:(aws[a-z-]*):sqs:([a-z0-9-]+):([0-9]{12}):([A-Za-z0-9_-]{1,80})$`)

func (o *Options) checkQueueARN() error {
	m := queueARN.FindStringSubmatch(o.QueueARN)
	switch {
	case o.QueueARN == "":
		return nil
	case m == nil:
		return fmt.Errorf("--queue-arn %q is not the ARN of a standard queue, such as arn:aws:sqs:eu-west-1:111122223333:interruption", o.QueueARN)
	case o.Region != "" && m[2] != o.Region:
		return fmt.Errorf("--queue-arn %s is in %s, the stack in %s: the queue must be in the region of the cluster", o.QueueARN, m[2], o.Region)
	case o.QueueName != "":
		return errors.New("--queue-arn names a queue that exists and --queue-name the one to make: give one of them")
	case o.KMS:
		return errors.New("--kms makes a key for the stack's own queue; that of --queue-arn has its own: name it with --kms-key")
	case o.Adopt == AdoptEKSModule:
		return errors.New("--adopt eks-module takes over the queue of the module, which --queue-arn leaves out: give one of them")
	}
	return o.checkPartition("--queue-arn", o.QueueARN)
}

func (o *Options) checkKey() error {
	switch {
	case o.KMSKey == "":
		return nil
	case o.KMS:
		return errors.New("--kms makes a key and --kms-key names one that exists: give one of them")
	case strings.HasSuffix(o.KMSKey, "alias/aws/sqs"):
		return errors.New("--kms-key alias/aws/sqs: EventBridge can't deliver to a queue with that key, for AWS manages its policy and it lets only " +
			"callers of your own account use it through SQS; leave --kms-key out (SQS then encrypts with a key of its own, which works), " +
			"or use --kms, or a key of yours whose policy lets events.amazonaws.com call kms:GenerateDataKey and kms:Decrypt")
	case strings.Contains(o.KMSKey, "alias/"):
		return fmt.Errorf("--kms-key %s: permissions are given on keys, not on their aliases: give the key's ARN, which aws kms describe-key --key-id alias/… shows", o.KMSKey)
	case !isARN(o.KMSKey, "kms", "key/"), !keyIDs.MatchString(o.KMSKey):
		return fmt.Errorf("--kms-key %q is not the ARN of a key, such as %s", o.KMSKey, exampleKey)
	case strings.ContainsAny(o.KMSKey, "*?"):
		return fmt.Errorf("--kms-key %s: a queue has one key: give its ARN without wildcards", o.KMSKey)
	}
	return o.checkPlace("--kms-key", o.KMSKey)
}

// checkPlace holds an ARN that permissions are given on to one account, one region and less than everything there. The
// region and the partition must be those of the stack, where they are given.
func (o *Options) checkPlace(flag, arn string) error {
	m := arns.FindStringSubmatch(arn)
	_, name, _ := strings.Cut(m[5], "/")
	switch {
	case m[3] == "" || m[3] == "*" || m[4] == "" || m[4] == "*":
		return fmt.Errorf("%s %s: name the account and the region; a permission on everybody's is more than the controller needs", flag, arn)
	case strings.Trim(name, "*?/") == "":
		return fmt.Errorf("%s %s: that is everything of the account: name what the nodes use, at least by the beginning of its name", flag, arn)
	case o.Region != "" && m[3] != o.Region:
		return fmt.Errorf("%s %s is in %s, the stack in %s: instances and queues use what is in their own region", flag, arn, m[3], o.Region)
	}
	return o.checkPartition(flag, arn)
}

// checkPartition holds an ARN to the partition of the stack's region, where that is given.
func (o *Options) checkPartition(flag, arn string) error {
	if o.Region == "" || !strings.HasPrefix(arn, "arn:") {
		return nil
	}
	if name := partition.Of(o.Region).Name; !strings.HasPrefix(arn, "arn:"+name+":") {
		return fmt.Errorf("%s %s: %s is in the partition %s", flag, arn, o.Region, name)
	}
	return nil
}

// roleARN is the ARN of one role: no wildcard, which would let the controller hand on any role.
var roleARN = regexp.MustCompile(`^arn:aws[a-z-]*:iam::[0-9]{12}:role/[\w+=,.@/-]+$`)

// publicPaths are patterns of names of AWS's own parameters that say more than publicPath.
var publicPaths = regexp.MustCompile(`^/aws/service/[\w.-]+(/[\w.*-]+)*$`)

func (o *Options) checkFeatures() error {
	var errs []error
	for _, a := range o.Parameters {
		if !isARN(a, "ssm", "parameter/") {
			errs = append(errs, fmt.Errorf("--ssm-parameter %q is not the ARN of a parameter, such as arn:aws:ssm:eu-west-1:111122223333:parameter/my/image", a))
			continue
		}
		errs = append(errs, o.checkPlace("--ssm-parameter", a))
	}
	for _, path := range o.PublicParameters {
		if !publicPaths.MatchString(path) {
			errs = append(errs, fmt.Errorf("--public-parameter %q: give a path under %s, with * for the rest, such as %seks/optimized-ami/*; "+
				"parameters of yours go into --ssm-parameter", path, publicPath, publicPath))
		}
	}
	for _, a := range o.PassRoles {
		switch {
		case !roleARN.MatchString(a):
			errs = append(errs, fmt.Errorf("--pass-role %q is not the ARN of a role, such as arn:aws:iam::111122223333:role/KarpenterNodeRole", a))
		case o.AccountID != "" && !strings.Contains(a, "::"+o.AccountID+":"):
			errs = append(errs, fmt.Errorf("--pass-role %s is not of account %s: instances take roles of their own account only", a, o.AccountID))
		default:
			errs = append(errs, o.checkPartition("--pass-role", a))
		}
	}
	for _, a := range o.VolumeKeys {
		if !isARN(a, "kms", "key/") || !keyIDs.MatchString(a) {
			errs = append(errs, fmt.Errorf("--volume-key %q is not the ARN of a key, such as %s", a, exampleKey))
			continue
		}
		errs = append(errs, o.checkPlace("--volume-key", a))
	}
	for _, a := range o.AlarmActions {
		if !isARN(a, "", "") {
			errs = append(errs, fmt.Errorf("--alarm-action %q is not an ARN, such as that of an SNS topic, arn:aws:sns:eu-west-1:111122223333:oncall", a))
		}
		if !o.Alarms {
			errs = append(errs, fmt.Errorf("--alarm-action %s: the stack has no alarms: set --alarms", a))
		}
	}
	return errors.Join(errs...)
}

func (o *Options) checkTags() error {
	var errs []error
	for _, k := range slices.Sorted(maps.Keys(o.Tags)) {
		switch {
		case k == "" || len(k) > 128 || len(o.Tags[k]) > 256:
			errs = append(errs, fmt.Errorf("--tags %q: keys have 1 to 128 characters and values up to 256", k))
		case strings.HasPrefix(strings.ToLower(k), "aws:"):
			errs = append(errs, fmt.Errorf("--tags %q: keys that begin with aws: are for AWS to set", k))
		case strings.Contains(k+o.Tags[k], "${"):
			errs = append(errs, fmt.Errorf("--tags %q: ${ would be taken for a reference", k))
		}
	}
	if len(o.Tags) > 40 {
		errs = append(errs, fmt.Errorf("--tags: %d tags, there is room for 40", len(o.Tags)))
	}
	return errors.Join(errs...)
}

// tags are those of all that can carry any: the cluster's, and the user's over it.
func (o *Options) tags() []Tag {
	all := map[string]string{}
	if o.Compat == Latest {
		all[tagDiscover] = refCluster
	}
	maps.Copy(all, o.Tags)
	var list []Tag
	for _, k := range slices.Sorted(maps.Keys(all)) {
		list = append(list, Tag{k, all[k]})
	}
	return list
}

// isPlaceholder reports whether the role is one of the words that pages and help texts have where a role is to be given.
func isPlaceholder(role string) bool {
	return slices.Contains([]string{"ARN", "NAME", "ROLE", "ROLE_ARN", "ROLE_NAME"}, policyName(role))
}

// isARN reports whether s is an ARN of a service and a kind of resource. None has blanks, or the dots of an example that was
// shortened.
func isARN(s, service, resource string) bool {
	m := arns.FindStringSubmatch(s)
	odd := func(r rune) bool { return r <= ' ' || r > '~' }
	return m != nil && !strings.ContainsFunc(s, odd) && !strings.Contains(s, "...") && (service == "" || m[2] == service) && strings.HasPrefix(m[5], resource)
}

// checkRoles holds trust policies and the number of policies to IAM's limits.
func (s *Stack) checkRoles() error {
	if s.ControllerRole == nil {
		return nil
	}
	if n := len(s.ControllerRole.ManagedPolicies); n > maxPolicies {
		return fmt.Errorf("the controller role would have %d policies, IAM attaches %d: name fewer keys and parameters (with * in their ARNs), "+
			"or leave features out", n, maxPolicies)
	}
	if n := s.largest(s.ControllerRole.Trust); n > iampolicy.TrustPolicyLimit {
		return fmt.Errorf("the trust policy of the controller role would have %d characters, IAM allows %d: is --oidc-provider right?", n, iampolicy.TrustPolicyLimit)
	}
	return nil
}
