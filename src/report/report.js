/* report.js - makes the charts of a page from the numbers in #data (report_charts.c), with Chart.js. */
"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const dark = matchMedia("(prefers-color-scheme: dark)");
  // Okabe and Ito's colours, which people with any colour vision tell apart; the dark ones are lighter.
  const palettes = {
    light: ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000"],
    dark: ["#56b4e9", "#e69f00", "#2fc79b", "#e39ac4", "#f0e442", "#ff8c4a", "#ffffff"],
  };
  // The legend draws a line there and back again; after SAMPLE pixels the ways coincide.
  const dashes = [[], [6, 4], [2, 6], [10, 3, 3, 3]], SAMPLE = 33;
  const shapes = ["circle", "triangle", "rect", "rectRot", "cross", "star", "crossRot"];

  const style = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const color = i => { const p = palettes[dark.matches ? "dark" : "light"]; return p[i % p.length]; };
  const number = x => Number(x).toLocaleString("en", { maximumSignificantDigits: 5 });
  const points = list => list.map(([x, y]) => ({ x, y: y === null ? NaN : y }));

  const axis = (title, more) => ({
    type: "linear",
    title: { display: true, text: title, color: style("--text") },
    ticks: { color: style("--faint"), maxRotation: 0, autoSkipPadding: 12 },
    grid: { color: style("--line") },
    ...more,
  });
  const epochs = title => axis(title, { ticks: { color: style("--faint"), precision: 0, maxRotation: 0 } });

  const curve = (s, more) => ({
    label: s.name, data: points(s.points), borderColor: color(s.color), backgroundColor: color(s.color),
    borderWidth: 2, pointRadius: s.points.length > 1 ? 0 : 3, pointHitRadius: 8, ...more,
  });

  // Chart.js writes every power of ten of a log scale with six digits.
  const logarithmic = {
    type: "logarithmic",
    ticks: {
      color: style("--faint"),
      callback: x => /^[125]e/.test(x.toExponential()) ? x.toExponential(0) : null,
    },
  };

  const line = chart => ({
    type: "line",
    data: { datasets: chart.series.map((s, i) => curve(s, { order: -i, borderDash: dashes[s.dash % dashes.length] })) },
    options: {
      interaction: { mode: "index", intersect: false },
      plugins: { // a line without a name belongs to the one before it
        legend: { reverse: true, labels: { boxHeight: 0, boxWidth: SAMPLE, filter: item => item.text } },
        tooltip: { filter: item => item.dataset.label },
      },
      scales: { x: epochs(chart.x), y: axis(chart.y, chart.log ? logarithmic : {}) },
    },
  });

  const stack = chart => ({
    type: "line",
    data: {
      datasets: chart.series.map((s, i) =>
        curve(s, { fill: i === 0 ? "origin" : "-1", backgroundColor: color(s.color) + "99", borderWidth: 1 })),
    },
    options: {
      interaction: { mode: "index", intersect: false },
      scales: { x: epochs(chart.x), y: axis(chart.y, { stacked: true, min: 0, max: 1 }) },
    },
  });

  // One point per network; the enlarged one has those whose truth is at least chart.top.
  const scatter = chart => {
    const dots = data.truths
      .map((truth, i) => ({ x: data.scores[chart.set][i], y: truth, network: i }))
      .filter(dot => chart.top === null || dot.y >= chart.top);
    return {
      type: "scatter",
      data: {
        datasets: [{
          label: `${dots.length} networks`, data: dots, backgroundColor: color(chart.color) + "88",
          borderColor: color(chart.color), borderWidth: chart.top === null ? 0 : 1,
          pointRadius: chart.top === null ? (dots.length > 2000 ? 1.5 : 3) : 4, pointHoverRadius: 7,
        }],
      },
      options: {
        interaction: { mode: "nearest", intersect: false },
        scales: { x: axis(chart.x), y: axis(chart.y) },
        plugins: {
          tooltip: {
            callbacks: {
              title: items => items.slice(0, 1).flatMap(item => data.archs[item.raw.network].split("+")),
              label: item => [`score ${number(item.raw.x)}`, `truth ${number(item.raw.y)}`],
            },
          },
        },
      },
    };
  };

  // A bar from the low to the high end of an interval, and a point at the value.
  const interval = chart => {
    const place = (i, k) => k + (i - (chart.series.length - 1) / 2) * 0.15;
    const bars = chart.series.map((s, i) => ({
      label: s.name, interval: true, showLine: true, spanGaps: false, pointRadius: 0, pointHitRadius: 0, borderWidth: 5,
      borderColor: color(s.color) + "77", backgroundColor: color(s.color) + "77",
      data: s.values.flatMap(([, low, high], k) =>
        low === null ? [] : [low, high, NaN].map(y => ({ x: place(i, k), y }))),
    }));
    const dots = chart.series.map((s, i) => ({
      label: s.name, pointRadius: 5, pointHoverRadius: 7, pointStyle: shapes[i % shapes.length],
      borderColor: color(s.color), backgroundColor: color(s.color),
      data: s.values.flatMap(([value, low, high], k) => value === null ? [] : [{ x: place(i, k), y: value, low, high, k }]),
    }));
    return {
      type: "scatter",
      data: { datasets: [...dots, ...bars] },
      options: {
        interaction: { mode: "nearest", intersect: false },
        scales: {
          x: axis("networks, by their true accuracy", {
            min: -0.5, max: chart.labels.length - 0.5, afterBuildTicks: scale => {
              scale.ticks = chart.labels.map((_, value) => ({ value }));
            },
            ticks: { color: style("--faint"), callback: value => chart.labels[value], autoSkip: false, maxRotation: 0 },
          }),
          y: axis(chart.y),
        },
        plugins: {
          legend: { labels: { filter: (item, all) => !all.datasets[item.datasetIndex].interval } },
          tooltip: {
            filter: item => !item.dataset.interval,
            callbacks: {
              label: ({ raw, dataset }) => [`${dataset.label}, ${chart.labels[raw.k]}`, `tau-b ${number(raw.y)}`]
                .concat(raw.low === null ? [] : [`95 % interval ${number(raw.low)} to ${number(raw.high)}`]),
            },
          },
        },
      },
    };
  };

  // A point per run beside those of its group, and a bar from a deviation below their mean to one above it.
  const seeds = chart => {
    const known = chart.groups.map(g => g.values.filter(y => y !== null));
    const means = known.map(ys => ys.reduce((sum, y) => sum + y, 0) / ys.length);
    const spreads = known.map((ys, k) =>
      ys.length < 2 ? NaN : Math.sqrt(ys.reduce((sum, y) => sum + (y - means[k]) ** 2, 0) / (ys.length - 1)));
    const bars = {
      label: "mean, deviation", bar: true, showLine: true, spanGaps: false, pointRadius: 0, pointHitRadius: 0,
      borderWidth: 12, borderColor: color(0) + "44", backgroundColor: color(0) + "44",
      data: means.flatMap((mean, k) => [mean - spreads[k], mean + spreads[k], NaN].map(y => ({ x: k, y }))),
    };
    const dots = {
      label: "runs", pointRadius: 4, pointHoverRadius: 6, borderColor: color(0), backgroundColor: color(0),
      data: known.flatMap((ys, k) => ys.map((y, i) => ({ x: k + (i - (ys.length - 1) / 2) * Math.min(0.1, 0.6 / ys.length), y, k }))),
    };
    return {
      type: "scatter",
      data: { datasets: [dots, bars] },
      options: {
        interaction: { mode: "nearest", intersect: false },
        scales: {
          x: axis("", {
            min: -0.5, max: chart.groups.length - 0.5,
            afterBuildTicks: scale => { scale.ticks = chart.groups.map((_, value) => ({ value })); },
            ticks: { color: style("--faint"), callback: value => chart.groups[value].name, autoSkip: false, maxRotation: 60 },
          }),
          y: axis(chart.y),
        },
        plugins: {
          legend: { display: false },
          tooltip: {
            filter: item => !item.dataset.bar,
            callbacks: {
              label: ({ raw }) => [chart.groups[raw.k].name, `${chart.y} ${number(raw.y)}`, `mean ${number(means[raw.k])}`],
            },
          },
        },
      },
    };
  };

  // Networks by something: dots with their names, and lines through some of them.
  const looks = {
    dots: c => ({ pointRadius: 3, pointHoverRadius: 6, borderWidth: 0, backgroundColor: c + "77" }),
    steps: c => ({ showLine: true, stepped: true, pointStyle: "line", pointRadius: 0, pointHitRadius: 0, borderWidth: 2, borderColor: c }),
    line: c => ({ showLine: true, pointStyle: "line", pointRadius: 0, pointHitRadius: 0, borderWidth: 2, borderColor: c }),
    star: () => ({ pointStyle: "star", pointRadius: 9, pointHoverRadius: 11, borderWidth: 3, borderColor: style("--weak") }),
  };
  const networks = chart => ({
    type: "scatter",
    data: {
      datasets: chart.series.map((s, i) => ({
        label: s.name, data: points(s.points), backgroundColor: color(chart.color), order: -i, ...looks[s.look](color(chart.color)),
      })),
    },
    options: {
      interaction: { mode: "nearest", intersect: false },
      scales: {
        x: axis(chart.x, {
          ticks: { color: style("--faint"), maxRotation: 0, autoSkipPadding: 12, callback: x => x.toLocaleString("en", { notation: "compact" }) },
        }),
        y: axis(chart.y),
      },
      plugins: {
        legend: { labels: { usePointStyle: true } },
        tooltip: {
          filter: item => item.dataset.pointRadius > 0,
          callbacks: {
            title: items => items.slice(0, 1).flatMap(item => chart.archs[item.dataIndex].split("+")),
            label: item => [`${chart.x} ${number(item.raw.x)}`, `top-1 ${number(item.raw.y)} %`],
          },
        },
      },
    },
  });

  const kinds = { line, stack, scatter, networks, interval, seeds };

  const draw = () => {
    Chart.defaults.animation = false;
    Chart.defaults.maintainAspectRatio = false;
    Chart.defaults.color = style("--text");
    Chart.defaults.font.family = "system-ui, sans-serif";
    Chart.defaults.plugins.legend.labels.boxWidth = 24;
    for (const chart of data.charts) {
      const canvas = document.getElementById(chart.id);
      Chart.getChart(canvas)?.destroy();
      if (canvas.closest("details:not([open])")) continue; // has no size yet
      new Chart(canvas, kinds[chart.kind](chart));
    }
  };
  draw();
  dark.addEventListener("change", draw);
  for (const part of document.querySelectorAll("details"))
    if (part.querySelector("canvas")) part.addEventListener("toggle", draw);
})();
