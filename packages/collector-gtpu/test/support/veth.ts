import { enterOwnNetwork } from '@steeple/testkit'

/** Without IPv6 of its own nothing but a test sends on these interfaces. */
const PREPARE = `
sysctl -qw net.ipv6.conf.default.disable_ipv6=1
ip link add gtx0 type veth peer name grx0
ip link set gtx0 mtu 9500 up
ip link set grx0 mtu 9500 up
`

/** The interface that packets are sent on, and the one at its other end. */
export const SENDING = 'gtx0'
export const RECEIVING = 'grx0'

/** Goes on in a network namespace of its own that has this pair of interfaces; see `enterOwnNetwork`. */
export function enterVethNetwork(file: string): void {
  enterOwnNetwork(file, PREPARE)
}
