/**
 * Alert rules, their tests and dashboards as a build has them: without what asks for metrics of packages that it lacks. Other files are
 * as they are.
 *
 * - Of an expression whose alternatives (`a or b`, on one line) ask for several packages, those that are there stay.
 * - `lacked`: the names of the metrics that nobody in the build has.
 */
export function watchingFor(path: string, text: string, lacked: readonly string[]): string {
  const asks = (part: string): boolean => lacked.some((name) => part.includes(name))
  if (!asks(text)) return text
  if (path.endsWith('.test.yml')) return without(text, /^(?= {2}- )/m, asks)
  if (path.endsWith('.yml'))
    return groupsOf(
      text.replaceAll(ALTERNATIVES, (line) => thoseThere(line, asks)),
      asks,
    )
  if (path.endsWith('.json')) return `${JSON.stringify(dashboardFor(JSON.parse(text), asks), undefined, 2)}\n`
  return text
}

type Asks = (part: string) => boolean

const ALTERNATIVES = /^ *expr: (?!>).* or .*$/gm

function thoseThere(line: string, asks: Asks): string {
  const [, key = '', expression = ''] = /^( *expr: )(.*)$/.exec(line) ?? []
  const there = expression.split(' or ').filter((part) => !asks(part))
  return there.length === 0 ? line : `${key}${there.join(' or ')}`
}

/** A text without those of its parts that ask; a part begins where `start` says. */
function without(text: string, start: RegExp, asks: Asks): string {
  return text
    .split(start)
    .filter((part, at) => at === 0 || !asks(part))
    .join('')
}

/** Groups of rules, each with the rules that are left, and none without any. */
function groupsOf(text: string, asks: Asks): string {
  return text
    .split(/^(?= {2}- name:)/m)
    .map((group) => without(group, /^(?= {6}- (?:alert|record):)/m, asks))
    .filter((group, at) => at === 0 || /^ {6}- (?:alert|record):/m.test(group))
    .join('')
}

interface Panel {
  readonly description?: string
  readonly targets?: readonly unknown[]
  readonly panels?: readonly Panel[]
}

/** A dashboard, or a row of one, with the panels that show something. */
function dashboardFor(dashboard: Panel, asks: Asks): Panel {
  const panels = dashboard.panels
    ?.map((panel) => panelFor(panel, asks))
    .filter((panel) => panel !== undefined)
  return panels === undefined ? dashboard : { ...dashboard, panels }
}

function panelFor(panel: Panel, asks: Asks): Panel | undefined {
  const targets = panel.targets?.filter((target) => !asks(JSON.stringify(target)))
  if (targets !== undefined && targets.length === 0 && panel.targets?.length !== 0) return undefined
  const { description = '', ...rest } = panel
  const told = description === '' || asks(description) ? rest : panel
  return dashboardFor(targets === undefined ? told : { ...told, targets }, asks)
}
