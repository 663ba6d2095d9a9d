/** K and OPc that every SIM of a test has. TS 35.208 test set 1. */
export const KEYS = {
  k: Buffer.from('465b5ce8b199b49faa5f0a2ee238a6bc', 'hex'),
  opc: Buffer.from('cd63cb71954a9f4e48a5994e37a02baf', 'hex'),
}
