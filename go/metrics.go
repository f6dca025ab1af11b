package forebay

import (
	"context"
	"sort"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// gatherTime is the longest time that a scrape waits for the engine.
const gatherTime = 2 * time.Second

// up tells whether the engine answers.
func up(value float64) *dto.MetricFamily {
	name, help := "forebay_up", "1: the engine answers."
	return &dto.MetricFamily{
		Name: &name, Help: &help, Type: dto.MetricType_GAUGE.Enum(),
		Metric: []*dto.Metric{{Gauge: &dto.Gauge{Value: &value}}},
	}
}

// gatherer reads an engine's metrics on every scrape.
func gatherer(p interface {
	Metrics(context.Context) (string, error)
}) prometheus.Gatherer {
	return prometheus.GathererFunc(func() ([]*dto.MetricFamily, error) {
		ctx, cancel := context.WithTimeout(context.Background(), gatherTime)
		defer cancel()
		text, err := p.Metrics(ctx)
		if err != nil {
			// An error here would take the host's own metrics down with it.
			return []*dto.MetricFamily{up(0)}, nil
		}
		parser := expfmt.NewTextParser(model.LegacyValidation)
		byName, err := parser.TextToMetricFamilies(strings.NewReader(text))
		if err != nil {
			return nil, newError(CodeInternal, "metrics", "metrics that do not parse: %v", err)
		}
		families := make([]*dto.MetricFamily, 0, len(byName)+1)
		families = append(families, up(1))
		for _, family := range byName {
			families = append(families, family)
		}
		// Gatherers promise the order of names.
		sort.Slice(families, func(i, j int) bool { return families[i].GetName() < families[j].GetName() })
		return families, nil
	})
}
