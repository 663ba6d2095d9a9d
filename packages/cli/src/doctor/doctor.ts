import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Settings } from '@steeple/contracts'
import { systemClock } from '@steeple/kernel'
import { DEFAULT_CONFIG_FILE, lineOf, loadConfig, parseListenAddress } from '@steeple/settings'
import { pluginPackages, sectionsHere } from '../composition/plugin-packages.ts'
import { jsonText } from '../output/print.ts'
import { printable } from '../output/table.ts'
import { COMMAND_VARIABLES, type PlaceOptions } from '../place.ts'
import type { Terminal } from '../terminal.ts'
import { type Check, doubtful, broken as failed, healthy } from './check.ts'
import { checkCapabilities } from './check-capabilities.ts'
import { checkClock } from './check-clock.ts'
import { checkContainers, checkPrograms } from './check-containers.ts'
import { checkKeys } from './check-keys.ts'
import { checkPlugins } from './check-plugins.ts'
import { checkPort, urlAt } from './check-port.ts'
import { checkReach } from './check-reach.ts'
import { checkService } from './check-service.ts'
import { checkDisk, checkStore } from './check-store.ts'
import { checkTransport } from './check-transport.ts'
import { doctorParts } from './doctor-parts.ts'

/** Flags of `svc doctor`: those of the service that change what it finds. */
export interface DoctorOptions extends PlaceOptions {
  readonly listen?: string
  readonly json?: boolean
}

/** `svc doctor`: every check with what to do about it; exit code 1 when one fails. */
export async function runDoctor(terminal: Terminal, options: DoctorOptions): Promise<void> {
  const checks = await examine(terminal, options)
  const isOk = checks.every((check) => check.status !== 'fail')
  if (options.json === true) terminal.out(jsonText({ ok: isOk, checks }))
  else terminal.out(checks.map(linesOf).join(''))
  if (!isOk) terminal.answer(1)
}

/** Every check. */
export async function examine(terminal: Terminal, options: DoctorOptions): Promise<readonly Check[]> {
  const { checks, settings } = readConfig(terminal, options)
  const ofPlace = settings === undefined ? [] : await checkPlace(terminal, settings)
  return [...checks, await checkClock(systemClock()), ...ofPlace]
}

async function checkPlace(terminal: Terminal, settings: Settings): Promise<readonly Check[]> {
  const clock = systemClock()
  // The configuration's own check has let it through.
  const address = parseListenAddress(settings.server.listen) ?? { host: '0.0.0.0', port: 0 }
  const packages = pluginPackages()
  const parts = doctorParts(packages)
  const containers = parts.flatMap((part) => part.containers?.(settings) ?? [])
  const programs = parts.flatMap((part) => part.programs?.(settings) ?? [])
  const neighbours = parts.flatMap((part) => part.neighbours?.(settings) ?? [])
  const needs = parts.flatMap((part) => part.needs?.(settings) ?? [])
  const more = await Promise.all(parts.map(async (part) => (await part.checks?.(settings, packages)) ?? []))
  const isTls = settings.tls.enabled
  const { check: port, isOurs } = await checkPort(address, isTls)
  return [
    ...checkKeys(settings, clock),
    ...checkTransport(settings, clock),
    await checkStore(terminal, settings, clock),
    await checkDisk(settings),
    ...checkPlugins(settings, packages),
    ...(await checkContainers(containers.length === 0 ? '' : settings.hss.engine_socket, containers)),
    ...(await checkPrograms(programs, terminal.env.PATH ?? '')),
    ...(await checkReach(neighbours)),
    ...more.flat(),
    ...checkCapabilities(needs, address.port),
    port,
    ...(isOurs ? await checkService(terminal, urlAt(address, isTls), caFileOf(settings, terminal)) : []),
  ]
}

/**
 * The file of the CA that the box presents itself by. Undefined for plain HTTP, and where another one has made its certificate:
 * then SVC_CA, or the machine, says whom to believe.
 */
function caFileOf(settings: Settings, { env }: Terminal): string | undefined {
  const { tls, server } = settings
  const keys = join(server.data_dir, 'keys')
  const isOwn = tls.enabled && tls.cert_file === '' && !existsSync(join(keys, 'mesh', 'mesh.json'))
  return isOwn && (env.SVC_CA ?? '') === '' ? join(keys, 'mesh-ca.pem') : undefined
}

function readConfig(
  terminal: Terminal,
  options: DoctorOptions,
): { readonly checks: readonly Check[]; readonly settings?: Settings } {
  const file = options.config ?? DEFAULT_CONFIG_FILE
  try {
    const source = {
      ...(options.config === undefined ? {} : { file: options.config }),
      env: terminal.env,
      flags: {
        ...(options.dataDir === undefined ? {} : { '--data-dir': options.dataDir }),
        ...(options.listen === undefined ? {} : { '--listen': options.listen }),
      },
      knownVariables: COMMAND_VARIABLES,
    }
    const { settings, warnings, problemsOf, sections } = loadConfig({
      ...source,
      sections: sectionsHere(source),
    })
    const plugins = new Set(sections.map(({ plugin }) => plugin))
    const wrong = [...plugins].flatMap((plugin) =>
      problemsOf(plugin).map((problem) =>
        failed('config', lineOf(problem), `the plugin ${plugin} waits for it; set it and send SIGHUP`),
      ),
    )
    const odd = warnings.map((warning) => doubtful('config', warning, 'correct it or leave it out'))
    return {
      settings,
      checks: [
        ...wrong,
        healthy('config', existsSync(file) ? file : `defaults; there is no ${file}`),
        ...odd,
      ],
    }
  } catch (error) {
    const lines = (error instanceof Error ? error.message : String(error)).split('\n')
    const remedy = 'correct it; svc config check FILE looks again. What depends on it was not checked.'
    return { checks: lines.map((line) => failed('config', line, remedy)) }
  }
}

function linesOf({ name, status, detail, remedy }: Check): string {
  const first = `${status.padEnd(4)}  ${name.padEnd(12)}  ${printable(detail)}\n`
  return remedy === undefined ? first : `${first}${' '.repeat(20)}${printable(remedy)}\n`
}
