import { type Rendered, validationFailed } from '@steeple/contracts'
import { type PlacedDesired, renderedOf, type YamlValue, yamlText } from '@steeple/southbound'
import { parseRange } from './address-range.ts'
import { type CorePlan, dbUriOf, maxUeOf, metricsEndpoint, type RenderSettings } from './core-plan.ts'
import { hssSection, mmeSection, pcrfSection, sgwcSection, sgwuSection } from './epc-files.ts'
import {
  amfSection,
  nrfSection,
  nssfSection,
  pcfSection,
  plainSection,
  scpSection,
  udmSection,
} from './five-g-files.ts'
import { diameterFile, diameterPath, speaksDiameter } from './free-diameter.ts'
import { homeKeyPath } from './home-keys.ts'
import { problemsOf } from './problems.ts'
import { addressOf, type Daemon, daemonsOf, generationsOf, isDaemon } from './roles.ts'
import { smfSection, upfSection } from './session-files.ts'

/** Daemons that read subscribers from the database themselves; their files may hold its password. */
export const DATABASE_DAEMONS: readonly Daemon[] = ['hss', 'pcrf', 'udr', 'pcf']

type Section = { readonly [key: string]: YamlValue }

const SECTIONS: Readonly<Record<Daemon, (plan: CorePlan) => Section>> = {
  mme: mmeSection,
  sgwc: sgwcSection,
  sgwu: sgwuSection,
  smf: smfSection,
  upf: upfSection,
  hss: hssSection,
  pcrf: pcrfSection,
  nrf: nrfSection,
  scp: scpSection,
  amf: amfSection,
  nssf: nssfSection,
  pcf: pcfSection,
  ausf: (plan) => plainSection(plan, 'ausf'),
  udm: udmSection,
  udr: (plan) => plainSection(plan, 'udr'),
  bsf: (plan) => plainSection(plan, 'bsf'),
}

/**
 * Every file of a core, `<daemon>.yaml` and `freeDiameter/<daemon>.conf`, for the generations in use.
 *
 * Pure: same input, same bytes. Throws `validation_failed` with one line per problem.
 */
export function renderCore(desired: PlacedDesired, settings: RenderSettings): Rendered {
  const plan = planFor(desired, settings)
  const files = new Map<string, string>()
  for (const daemon of plan.daemons) {
    files.set(`${daemon}.yaml`, yamlText(fileOf(daemon, plan)))
    if (speaksDiameter(daemon, plan)) files.set(diameterPath(daemon), diameterFile(daemon, plan))
  }
  if (plan.daemons.includes('udm'))
    for (const { id, pem } of settings.homeKeys) files.set(homeKeyPath(id), pem)
  return renderedOf(files)
}

/** The daemon that reads a file of the rendered set; undefined for a file that is none of it. */
export function daemonOfFile(path: string): Daemon | undefined {
  if (path.startsWith('hnet/')) return 'udm'
  const name = /^(?:freeDiameter\/)?([a-z]+)\.(?:yaml|conf)$/.exec(path)?.[1] ?? ''
  return isDaemon(name) ? name : undefined
}

function planFor(desired: PlacedDesired, settings: RenderSettings): CorePlan {
  const { addresses } = desired
  const generations = generationsOf({ ...settings, addresses })
  const daemons = daemonsOf(generations)
  const problems = problemsOf(desired, settings, generations, daemons)
  const pool = parseRange(settings.subnet)
  const dbUri = dbUriOf(settings.mongoUrl, addresses.mongo)
  if (problems.length > 0 || pool === undefined || dbUri === undefined) {
    throw validationFailed(problems.join('\n'), {
      details: problems.map((line) => {
        const [key = ''] = line.split(' ')
        return { pointer: `/${key.replaceAll('.', '/')}`, message: line.slice(key.length + 1) }
      }),
    })
  }
  return {
    desired,
    settings,
    generations,
    daemons,
    pool,
    maxUe: maxUeOf(desired.maxUes),
    dbUri,
    at: (daemon) => addressOf(daemon, addresses),
    metrics: (daemon) => metricsEndpoint(daemon, addresses, settings),
  }
}

function fileOf(daemon: Daemon, plan: CorePlan): Section {
  return {
    ...(DATABASE_DAEMONS.includes(daemon) ? { db_uri: plan.dbUri } : {}),
    global: { max: { ue: plan.maxUe } },
    [daemon]: SECTIONS[daemon](plan),
  }
}
