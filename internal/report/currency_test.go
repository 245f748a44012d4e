package report

import "testing"

func TestAmountsAreInTheCurrency(t *testing.T) {
	const text = "costs $1.20/h, −$3 less; $/h and $HOME, ${X}, $"
	for currency, want := range map[string]string{
		"": text, "USD": text, "CNY": "costs ¥1.20/h, −¥3 less; ¥/h and $HOME, ${X}, $", "EUR": "costs €1.20/h, −€3 less; €/h and $HOME, ${X}, $", "XYZ": "costs XYZ 1.20/h, −XYZ 3 less; XYZ /h and $HOME, ${X}, $",
	} {
		if got := In(currency, text); got != want {
			t.Errorf("%s: %q, want %q", currency, got, want)
		}
	}
}
