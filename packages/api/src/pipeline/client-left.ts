/** The client left before its request was answered. Nobody is there to be told. */
export class ClientLeft extends Error {}
