import type { DoctorPart } from '../doctor-part.ts'

/** The program of the radio, and what takes its rights away. */
export const part: DoctorPart = {
  of: 'driver-ran',
  programs: ({ ran }) =>
    ran.binary === ''
      ? []
      : [
          { name: 'radio', what: ran.binary, key: 'ran.binary' },
          { name: 'radio', what: 'setpriv', key: 'PATH: install util-linux' },
        ],
}
