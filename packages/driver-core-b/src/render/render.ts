import { type Rendered, validationFailed } from '@steeple/contracts'
import { type PlacedDesired, renderedOf, type Section, yamlText } from '@steeple/southbound'
import { amfFile, ausfFile, nrfFile, nssfFile } from './access-files.ts'
import { type CorePlan, databaseOf, type RenderSettings, type SessionPool } from './core-plan.ts'
import { functionsOf, type NetworkFunction, placesOf } from './functions.ts'
import { ipv4RangeText, parseIpv4Range, partsOf } from './pools.ts'
import { problemsOf } from './problems.ts'
import { releaseTraits } from './release.ts'
import { routingFile, smfFile, upfFile } from './session-files.ts'
import { chfFile, pcfFile, udmFile, udrFile } from './subscriber-files.ts'

const FILES: Readonly<Record<NetworkFunction, (plan: CorePlan) => Section>> = {
  nrf: nrfFile,
  udr: udrFile,
  udm: udmFile,
  ausf: ausfFile,
  nssf: nssfFile,
  pcf: pcfFile,
  chf: chfFile,
  upf: upfFile,
  smf: smfFile,
  amf: amfFile,
}

/**
 * Every file of a core: `<function>cfg.yaml`, and `uerouting.yaml` of the SMF.
 *
 * Pure: same input, same bytes. Throws `validation_failed` with one line per problem.
 */
export function renderCore(desired: PlacedDesired, settings: RenderSettings): Rendered {
  const plan = planFor(desired, settings)
  const files = new Map<string, string>()
  for (const nf of plan.functions) files.set(`${nf}cfg.yaml`, yamlText(FILES[nf](plan)))
  files.set('uerouting.yaml', yamlText(routingFile()))
  return renderedOf(files)
}

function planFor(desired: PlacedDesired, settings: RenderSettings): CorePlan {
  const problems = problemsOf(desired, settings)
  const range = parseIpv4Range(settings.subnet)
  const database = databaseOf(settings.mongoUrl, desired.addresses.mongo)
  const release = releaseTraits(settings.release)
  if (problems.length > 0 || range === undefined || database === undefined || release === undefined) {
    throw validationFailed(problems.join('\n'), {
      details: problems.map((line) => {
        const [key = ''] = line.split(' ')
        return { pointer: `/${key.replaceAll('.', '/')}`, message: line.slice(key.length + 1) }
      }),
    })
  }
  const parts = partsOf(range, settings.slices.length * desired.apns.length)
  const pools = settings.slices
    .flatMap(({ sst, sd }) => desired.apns.map((dnn) => ({ sst, sd, dnn })))
    .flatMap((session, index): readonly SessionPool[] => {
      const part = parts[index]
      return part === undefined ? [] : [{ ...session, cidr: ipv4RangeText(part) }]
    })
  return {
    desired,
    settings,
    functions: functionsOf(settings.charging),
    places: placesOf(desired.addresses),
    pools,
    database,
    release,
  }
}
