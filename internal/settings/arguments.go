package settings

import (
	"slices"

	"github.com/spf13/pflag"
)

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
// settings are left out, and so is all that stands behind a flag without its value. A dash does for two, as it does for Karpenter.
func Arguments(args []string) map[string]string {
	fs := pflag.NewFlagSet("", pflag.ContinueOnError)
	AddFlags(fs)
	NormalizeFlags(fs)
	fs.BoolP("help", "h", false, "") // it ends nothing
	fs.ParseErrorsAllowlist.UnknownFlags = true
	args = slices.Clone(args)
	for i, arg := range args {
		if len(arg) > 2 && arg[0] == '-' && arg[1] >= 'a' {
			args[i] = "-" + arg
		}
	}
	_ = fs.Parse(args)
	out := map[string]string{}
	fs.Visit(func(f *pflag.Flag) { out[EnvName(f.Name)] = f.Value.String() })
	delete(out, "HELP")
	return out
}
