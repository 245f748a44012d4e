package authz

import (
	"encoding/json"
	"maps"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/kerf-sh/kerf/internal/awsmodel/iampolicy"
	"github.com/kerf-sh/kerf/internal/sim/awssim/wire"
	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
)

// call is one request while it is judged.
type call struct {
	a        *Authorizer
	r        *wire.Request
	w        *world.World
	caller   iampolicy.Caller
	policies iampolicy.Policies
	base     iampolicy.Context
	answers  map[answerKey]*wire.Error
	json     map[string]any

	fleetRequest *world.FleetRequest
	arns         map[*world.Resource]string
	tagSets      map[string]*tagSet
}

func (a *Authorizer) newCall(r *wire.Request) *call {
	c := &call{
		a: a, r: r, w: a.world, policies: a.world.PoliciesOf(r.Principal.PrincipalARN), answers: map[answerKey]*wire.Error{},
		arns: map[*world.Resource]string{}, tagSets: map[string]*tagSet{},
		caller: iampolicy.Caller{ARN: r.Principal.PrincipalARN, Account: r.Principal.Account},
	}
	c.base = c.common()
	return c
}

// common are the keys that every call has.
//
// Source: IAM User Guide, "AWS global condition context keys", checked 2026-11.
func (c *call) common() iampolicy.Context {
	r, now := c.r, c.w.Now()
	k := iampolicy.Context{
		"aws:requestedregion":  {r.Region},
		"aws:securetransport":  {strconv.FormatBool(r.TLS)},
		"aws:principalaccount": {r.Principal.Account},
		"aws:userid":           {r.Principal.PrincipalID},
		"aws:currenttime":      {now.UTC().Format(time.RFC3339)},
		"aws:epochtime":        {strconv.FormatInt(now.Unix(), 10)},
		"aws:viaawsservice":    {"false"},
	}
	if r.Remote != "" {
		k["aws:sourceip"] = []string{r.Remote}
	}
	if agent := r.Header.Get("User-Agent"); agent != "" {
		k["aws:useragent"] = []string{agent}
	}
	kind, arn, name := principal(r.Principal.PrincipalARN)
	k["aws:principaltype"] = []string{kind}
	if kind == "User" {
		k["aws:username"] = []string{name}
	} else if role, err := c.w.Role(name); err == nil {
		arn = role.ARN
		for key, value := range role.Tags {
			k["aws:principaltag/"+strings.ToLower(key)] = []string{value}
		}
	}
	k["aws:principalarn"] = []string{arn}
	if c.r.Service == wire.EC2 {
		k["ec2:region"] = []string{r.Region}
	}
	return k
}

// principal takes an ARN apart: what kind of principal it is, the ARN that conditions see (that of the role and not of
// the session) and its name.
func principal(arn string) (kind, seen, name string) {
	head, rest, _ := strings.Cut(arn, ":assumed-role/")
	if rest != "" {
		name, _, _ = strings.Cut(rest, "/")
		return "AssumedRole", strings.Replace(head, ":sts:", ":iam:", 1) + ":role/" + name, name
	}
	name = arn[strings.LastIndexByte(arn, '/')+1:]
	if strings.Contains(arn, ":role/") {
		return "AssumedRole", arn, name
	}
	return "User", arn, name
}

// roomForKeys is how many keys a resource may add without a map having to grow.
const roomForKeys = 24

func (c *call) context() iampolicy.Context {
	k := make(iampolicy.Context, len(c.base)+roomForKeys)
	maps.Copy(k, c.base)
	return k
}

// arn makes the ARN of a resource of the caller's account and region.
func (c *call) arn(service, resource string) string {
	return "arn:" + c.w.Partition() + ":" + service + ":" + c.w.Region() + ":" + c.w.Account() + ":" + resource
}

func (c *call) iamARN(resource string) string {
	return "arn:" + c.w.Partition() + ":iam::" + c.w.Account() + ":" + resource
}

// text is a parameter of the request: of the form, the path, or a string at the top of the JSON body.
func (c *call) text(names ...string) string {
	for _, name := range names {
		if v := c.r.Form.Get(name); v != "" {
			return v
		}
		if v := c.r.Path[name]; v != "" {
			return v
		}
		if v, ok := c.body()[name].(string); ok && v != "" {
			return v
		}
	}
	return ""
}

// texts is a list of strings at the top of the JSON body.
func (c *call) texts(name string) []string {
	var out []string
	list, _ := c.body()[name].([]any)
	for _, v := range list {
		if s, ok := v.(string); ok {
			out = append(out, s)
		}
	}
	return out
}

func (c *call) body() map[string]any {
	if c.json == nil {
		c.json = map[string]any{}
		_ = json.Unmarshal(c.r.JSON, &c.json) // what cannot be read has no parameters; the handler refuses it
	}
	return c.json
}

// setTags adds the keys of tags under a prefix such as aws:RequestTag/.
func setTags(keys iampolicy.Context, prefix string, tags map[string]string) {
	for k, v := range tags {
		keys[prefix+strings.ToLower(k)] = []string{v}
	}
}

const (
	requestTag     = "aws:requesttag/"
	resourceTag    = "aws:resourcetag/"
	ec2ResourceTag = "ec2:resourcetag/"
	iamResourceTag = "iam:resourcetag/"
)

// setRequested adds the keys of tags that a call wants to set.
func setRequested(keys iampolicy.Context, tags map[string]string) {
	setTags(keys, requestTag, tags)
	if len(tags) > 0 {
		names := make([]string, 0, len(tags))
		for k := range tags {
			names = append(names, k)
		}
		keys["aws:tagkeys"] = names
	}
}

// formTags reads a list of Key and Value structures.
func formTags(form url.Values, prefix string) map[string]string {
	list := wire.Structs(form, prefix)
	if len(list) == 0 {
		return nil
	}
	out := make(map[string]string, len(list))
	for _, t := range list {
		out[t.Get("Key")] = t.Get("Value")
	}
	return out
}
