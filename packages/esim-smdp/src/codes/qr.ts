import { create, toBuffer, toString as toText } from 'qrcode'

/** Modules that a printed code may lose: M (15 %) reads from worn paper and stays at 33 modules a side. ISO/IEC 18004 §7.5. */
const LEVEL = 'M'
/** Modules of white around it, without which scanners miss it. ISO/IEC 18004 §9.1. */
const QUIET_MODULES = 4
/** Pixels of a module in a PNG. */
const PIXELS = 8

/** A QR code as SVG: black on white, whatever it lies on. */
export async function qrSvg(text: string): Promise<string> {
  return await toText(text, { type: 'svg', errorCorrectionLevel: LEVEL, margin: QUIET_MODULES })
}

export async function qrPng(text: string): Promise<Uint8Array> {
  return await toBuffer(text, {
    type: 'png',
    errorCorrectionLevel: LEVEL,
    margin: QUIET_MODULES,
    scale: PIXELS,
  })
}

/** The modules of a QR code without the quiet zone as an SVG path of unit squares, and how many there are on a side. */
export function qrPath(text: string): { readonly path: string; readonly modules: number } {
  const { modules } = create(text, { errorCorrectionLevel: LEVEL })
  const { size, data } = modules
  let path = ''
  for (let row = 0; row < size; row++) {
    for (let column = 0; column < size; column++) {
      if (data[row * size + column] !== 1) continue
      const from = column
      while (column + 1 < size && data[row * size + column + 1] === 1) column++
      path += `M${from} ${row}h${column - from + 1}v1H${from}z`
    }
  }
  return { path, modules: size }
}
