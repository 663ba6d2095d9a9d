import { type Settings, validationFailed } from '@steeple/contracts'
import type { CellSwitch, SwitchConfig } from './cell-switch.ts'
import { commandSwitch } from './command-switch.ts'
import { genieacsSwitch } from './genieacs-switch.ts'
import { httpSwitch } from './http-switch.ts'
import { snmpSwitch } from './snmp-switch.ts'

/** The switch of the configuration, whose schema has been checked. */
export function cellSwitch(ran: Settings['ran']): CellSwitch {
  const config = ran.external.switch as unknown as SwitchConfig // its schema says so
  if ('command' in config) return commandSwitch(config.command)
  if ('http' in config) return httpSwitch(config.http)
  if ('snmp' in config) return snmpSwitch(config.snmp)
  if ('genieacs' in config) return genieacsSwitch(config.genieacs, ran.external.technology)
  throw validationFailed('ran.external.switch names no switch: command, http, snmp or genieacs')
}
