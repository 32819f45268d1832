-- Asks for as many owners as torment does.
request = function()
    return wrk.format("GET", "/owners/" .. math.random(1000))
end
