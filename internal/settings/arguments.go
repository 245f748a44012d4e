package settings

import "github.com/spf13/pflag"

// LongName is the name of a flag of the controller that has a short form: kerf-shadow of shadow. Other names are returned as they are.
func LongName(flag string) string {
	if flag == "shadow" || flag == "compat" {
		return "kerf-" + flag
	}
	return flag
}

// NormalizeFlags has fs take the short forms of flags for the long ones.
func NormalizeFlags(fs *pflag.FlagSet) {
	fs.SetNormalizeFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName { return pflag.NormalizedName(LongName(name)) })
}

// Arguments are the settings that a command line gives as flags, by their variables, as the controller reads them. Flags that are no
// settings are left out, and so is all that stands behind a flag with which the controller does not start.
func Arguments(args []string) map[string]string {
	fs := pflag.NewFlagSet("", pflag.ContinueOnError)
	AddFlags(fs)
	NormalizeFlags(fs)
	fs.Usage = func() {} // --help writes nothing
	fs.ParseErrorsAllowlist.UnknownFlags = true
	_ = fs.Parse(args)
	out := map[string]string{}
	fs.Visit(func(f *pflag.Flag) { out[EnvName(f.Name)] = f.Value.String() })
	return out
}
