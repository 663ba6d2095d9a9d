import { type Context, type JsonSchema, ok, type Route, recordSchema, route } from '@steeple/contracts'
import { machineHints } from '../process/preflight.ts'
import { type PROGRAM_PATHS, programPath, type RadioProblem, type UsbRadio, usbRadios } from './usb-radios.ts'

const TEXT: JsonSchema = { type: 'string' }
const NULLABLE_TEXT: JsonSchema = { type: ['string', 'null'] }
const FLAG: JsonSchema = { type: 'boolean' }
const PROGRAMS = ['srsenb', 'gnb'] as const

const list = (items: JsonSchema): JsonSchema => ({ type: 'array', items })
const DEVICE: JsonSchema = recordSchema({
  name: TEXT,
  usb_id: { ...TEXT, description: 'Vendor and product: 2500:0020.' },
  port: { ...TEXT, description: 'The USB port, as Linux names it: 1-2.' },
  in_use: { ...FLAG, description: 'The configuration names this kind of radio.' },
  problems: {
    ...list(recordSchema({ code: TEXT, message: TEXT })),
    description: 'What keeps a program from using it, and what to do.',
  },
  choices: {
    ...list(
      recordSchema({
        program: { type: 'string', enum: PROGRAMS },
        settings: {
          ...recordSchema({
            'ran.binary': TEXT,
            'ran.program': TEXT,
            'ran.device_name': TEXT,
            'ran.device_args': TEXT,
          }),
          description: 'What PUT /v1/settings takes to use it.',
        },
      }),
    ),
    description: 'The installed programs that can use it.',
  },
})
const ANSWER: JsonSchema = recordSchema({
  usb: {
    ...FLAG,
    description: 'False: this machine shows the service no USB ports, as a container without /sys/bus/usb.',
  },
  devices: list(DEVICE),
  programs: list(
    recordSchema({
      program: { type: 'string', enum: PROGRAMS },
      path: { ...NULLABLE_TEXT, description: 'Null: it is not installed where packages put it.' },
      in_use: FLAG,
    }),
  ),
  binary: { ...TEXT, description: 'ran.binary; empty: no radio is configured.' },
  hints: { ...list(TEXT), description: 'What this machine lacks for a radio.' },
})

const MESSAGES: Readonly<Record<RadioProblem | 'no_program', string>> = {
  half_duplex: 'It sends or receives, one at a time. A base station does both: use another radio.',
  no_access:
    'The service may not open it. Install the udev rule of its maker, add the group of the service, and plug it in again.',
  usb_2: 'It is at USB 2, which is too slow for wide cells. Plug it into a USB 3 port.',
  no_program: 'No program that can use it is installed. Install srsRAN 4G (srsenb) or srsRAN Project (gnb).',
}

/** `GET /v1/tx/devices`: what is there to transmit with. `root` is where sys, dev and usr are. */
export function devicesRoute({ settings }: Pick<Context, 'settings'>, root: string): Route {
  return route({
    method: 'GET',
    path: '/v1/tx/devices',
    role: 'viewer',
    summary: 'Show the software radios and radio programs of this machine',
    description:
      'USB radios by what Linux says of them; none is opened. With each the programs that can use it, the settings that do so, and ' +
      'what is missing.',
    schema: { response: ANSWER },
    handle: async () => {
      const { ran } = settings
      const radios = await usbRadios(root)
      const paths = new Map(
        await Promise.all(PROGRAMS.map(async (name) => [name, await programPath(root, name)] as const)),
      )
      const isUsed = (program: string): boolean => ran.binary !== '' && ran.program === program
      return ok({
        usb: radios !== undefined,
        devices: (radios ?? []).map((radio) => shown(radio, paths, ran)),
        programs: PROGRAMS.map((program) => ({
          program,
          path: isUsed(program) ? ran.binary : (paths.get(program) ?? null),
          in_use: isUsed(program),
        })),
        binary: ran.binary,
        hints: machineHints(),
      })
    },
  })
}

function shown(
  { name, usbId, port, device, programs, problems }: UsbRadio,
  paths: ReadonlyMap<keyof typeof PROGRAM_PATHS, string | undefined>,
  ran: Context['settings']['ran'],
): object {
  const choices = programs.flatMap((program) => {
    const path = paths.get(program)
    const keys = { 'ran.program': program, 'ran.device_name': device.device_name }
    return path === undefined
      ? []
      : [{ program, settings: { ...keys, 'ran.binary': path, 'ran.device_args': device.device_args } }]
  })
  const isConfigured = ran.binary !== '' && ran.device_name.toLowerCase() === device.device_name
  const isMissing = programs.length > 0 && choices.length === 0 && !isConfigured
  const codes = [...problems, ...(isMissing ? (['no_program'] as const) : [])]
  return {
    name,
    usb_id: usbId,
    port,
    in_use: isConfigured && ['auto', device.device_args].includes(ran.device_args),
    problems: codes.map((code) => ({ code, message: MESSAGES[code] })),
    choices,
  }
}
