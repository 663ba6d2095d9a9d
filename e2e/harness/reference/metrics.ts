import { head, markedPart, type Part } from './parts.ts'

const ABOUT = `Every metric of \`GET /metrics\`, of the service and of each of its parts. Alert rules may name them ([alerts](../monitoring/README.md));
labels are from closed sets, and none names a person. What installed plugins declare comes beside them.`

/** The page of all metrics. `served`: the text of `/metrics` of a running service. */
export function metricsPage(served: string, names: readonly string[], parts: readonly Part[]): string {
  const help = new Map(
    [...served.matchAll(/^# HELP (\S+) (.+)$/gm)].map(([, name = '', text = '']) => [name, text]),
  )
  const own = [...names].sort().map((name) => {
    const text = help.get(name)
    if (text === undefined) throw new Error(`/metrics does not explain ${name}`)
    return [name, text] as const
  })
  const groups = parts
    .filter(({ metrics }) => Object.keys(metrics).length > 0)
    .map((part) => markedPart(`## ${part.name}\n\n${tableOf(Object.entries(part.metrics))}`, part))
  return `${head('Metrics', 'manifests and /metrics', ABOUT)}\n## The service itself\n\n${tableOf(own)}\n\n${groups.join('\n\n')}\n`
}

function tableOf(rows: readonly (readonly [string, string])[]): string {
  return `| Metric | Is |\n|---|---|\n${rows.map(([name, text]) => `| \`${name}\` | ${text.replaceAll('|', '\\|')} |`).join('\n')}`
}
